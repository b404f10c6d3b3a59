"""What kept models put out: images of autoencoders, predictions of regressions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import torch
from torch import nn

from ngo import datasets
from ngo.datasets import Dataset
from ngo.registry import Registry
from ngo.seeding import torch_stream
from ngo.snapshots import load_snapshots, restored

CONSENSUS = -1  # the "worker" that is the consensus model
NOISY_POINTS = 200  # test points beside a regression's predictions

Show = Callable[[list[nn.Module], Dataset, int, int], pd.DataFrame]

SHOWN: Registry[Show] = Registry("task of the models")


@torch.no_grad()
def samples_table(models: Path, images: int, seed: int, root: Path) -> pd.DataFrame:
    """What each kept step's models put out, as rows with the run's facts, the ``step``, and whether
    the run had ``diverged``; the consensus model is worker −1.

    Autoencoders: ``kind`` "original" (the first ``images`` test images), "reconstruction" (those by
    the consensus model, from the mean of their codes' distribution) and "generation" (by each
    model, from the same ``images`` codes z ~ N(0, I) of the stream (``seed``, "samples")), with a
    row for each pixel: ``image``, ``channel``, ``row``, ``column`` and ``value``, 0 to 255: the
    expected value of the likelihood.

    Regressions: ``kind`` "prediction" (``who`` "consensus" or "worker", at ``images`` points over
    the test inputs' range) and "target" (the first noisy test points, ``who`` "data"), with a row
    for each point (``x``, ``y``).
    """
    spec, snapshots = load_snapshots(models)
    show = SHOWN[spec.task]
    data = datasets.load(spec.dataset, root)
    fields = ("dataset", "partition", "protocol", "topology", "p", "workers", "seed")
    facts = {name: getattr(spec, name) for name in fields}
    facts = {name: value for name, value in facts.items() if value is not None}
    tables = []
    for step, snapshot in sorted(snapshots.items()):
        diverged = not bool(snapshot["X"].isfinite().all())
        modules = [module.eval() for module in restored(spec, snapshot).modules()]
        table = show(modules, data, images, seed)
        own = {"train_samples": len(data.train_inputs), "step": step, "diverged": diverged}
        tables.append(pd.DataFrame({"run": spec.id, **facts, **own, **table}))
    return pd.concat(tables, ignore_index=True)


def _images(modules: list[nn.Module], data: Dataset, images: int, seed: int) -> pd.DataFrame:
    consensus = modules[0]
    originals = data.test_inputs[:images]
    means, _ = consensus.encode(originals / 255)
    codes = torch.randn(images, consensus.latent, generator=torch_stream(seed, "samples"))
    shown = [
        _pixels(originals, "original", CONSENSUS),
        _pixels(_expected(consensus.decode(means)), "reconstruction", CONSENSUS),
    ]
    for worker, module in enumerate(modules, start=CONSENSUS):
        shown.append(_pixels(_expected(module.decode(codes)), "generation", worker))
    return pd.concat(shown, ignore_index=True)


def _expected(logits: torch.Tensor) -> torch.Tensor:
    """The images ``[b, c, h, w]`` that a decoder's likelihood expects, in whole levels of 255.

    ``logits`` are of Bernoulli grey levels ``[b, c, h, w]``, or of 256 levels
    ``[b, 256, c, h, w]``. A model that diverged gives black.
    """
    if logits.dim() == 4:
        levels = 255 * logits.sigmoid()
    else:
        levels = torch.einsum("bvchw,v->bchw", logits.softmax(1), torch.arange(256.0))
    return levels.nan_to_num().round().to(torch.uint8)


def _pixels(images: torch.Tensor, kind: str, worker: int) -> pd.DataFrame:
    names = ["image", "channel", "row", "column"]
    index = pd.MultiIndex.from_product(map(range, images.shape), names=names)
    table = index.to_frame(index=False).assign(value=images.numpy().ravel())
    table.insert(0, "kind", kind)
    table.insert(1, "worker", worker)
    return table


def _predictions(modules: list[nn.Module], data: Dataset, points: int, seed: int) -> pd.DataFrame:
    inputs, targets = data.test_inputs, data.test_targets
    x = torch.linspace(float(inputs.min()), float(inputs.max()), points)
    shown = [
        _curve(
            "consensus" if worker == CONSENSUS else "worker",
            worker,
            "prediction",
            x,
            module(x[:, None]),
        )
        for worker, module in enumerate(modules, start=CONSENSUS)
    ]
    some = slice(NOISY_POINTS)
    shown.append(_curve("data", CONSENSUS, "target", inputs[some], targets[some]))
    return pd.concat(shown, ignore_index=True)


def _curve(who: str, worker: int, kind: str, x: torch.Tensor, y: torch.Tensor) -> pd.DataFrame:
    points = {"x": x.double().numpy().ravel(), "y": y.double().numpy().ravel()}
    return pd.DataFrame({"who": who, "worker": worker, "kind": kind, **points})


SHOWN.add("vae", _images)
SHOWN.add("regression", _predictions)
