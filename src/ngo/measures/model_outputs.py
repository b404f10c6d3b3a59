"""Outputs of kept models: images of autoencoders, predictions of regressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ngo.common.fields import at_least, whole, within
from ngo.common.lazy import Table, Tensor, nn, np, pd, torch
from ngo.common.seeding import torch_stream
from ngo.data.dataset import Dataset
from ngo.measures.measurement import kept, measurement
from verdicts.registry import one_of

if TYPE_CHECKING:
    from ngo.models.layers import VAE


#: The ``worker`` of rows about the consensus model.
CONSENSUS = -1

#: Number of test points listed with a regression's predictions.
NOISY_POINTS = 200


@dataclass(frozen=True)
class SamplesOptions:
    """Options of ``samples_table``."""

    images: int = whole("images of each kind, or points of a curve", 8, within(1, 10_000))
    seed: int = whole("seed of the codes of generated images", 0, at_least(0))


#: Columns that the table has of its runs.
FACTS = (
    *("run", "dataset", "model", "partition", "method", "topology", "p", "gamma", "workers"),
    *("epochs", "seed", "train_samples", "step"),
)

COLUMNS = (
    *("run", "train_samples", "step", "diverged", "kind", "who", "worker", "image", "channel"),
    *("row", "column", "value", "reconstruction_loss", "class_means_loss", "workers_variance"),
    *("x", "y"),
)


@measurement("samples", SamplesOptions, on_models=True, columns=COLUMNS)
def samples_table(options: SamplesOptions, models: Sequence[Path], data_root: Path) -> Table:
    r"""Show what kept models generate, reconstruct or predict.

    MODELS are files models.pt of runs, written by ngo train --snapshot. The table has the fields
    of the run, the step of the snapshot, and whether the run diverged. Worker −1 is the consensus
    model.

    Autoencoders have a row for each pixel (image, channel, row, column) with its value, 0 to 255:
    the expected value of the likelihood. The kind is "original" (the first --images test images),
    "reconstruction" (of these by the consensus model, from the mean of the codes' distribution) or
    "generation" (by each model, from the same --images codes z ~ N(0, I)). Three columns belong to
    the snapshot: the consensus model's reconstruction_loss on the test set in nats per image; the
    class_means_loss, if each image is replaced by the mean of its class; and the workers_variance,
    of the levels that the workers generate from the same codes, as shares of 1.

    Regressions have a row for each point (x, y). The kind is "prediction" (at --images points over
    the range of the test inputs) or "target" (the first noisy test points).

    Train networks on a noisy sine, and see what they predict:
      ngo train --dataset sine --model toy_net --task regression \
        --epochs 5 --snapshot final --out kept/
      ngo samples kept/models.pt --images 20 --out samples.parquet
    """
    tables = []
    for spec, population, data, known in kept(models, data_root):
        one_of("task of the models", spec.task, OUTPUTS)
        facts = {name: known[name] for name in FACTS if name in known}
        facts["diverged"] = not bool(population.X.isfinite().all())
        modules = [module.eval() for module in population.models()]
        with torch.no_grad():
            table = OUTPUTS[spec.task](modules, data, options)
        tables.append(pd.DataFrame({**facts, **table}))
    return pd.concat(tables, ignore_index=True)


def _images(modules: list[nn.Module], data: Dataset, options: SamplesOptions) -> Table:
    consensus, images = modules[0], options.images
    originals = data.test_inputs[:images]
    means, _ = consensus.encode(originals / 255)
    generator = torch_stream(options.seed, "samples")
    codes = torch.randn(images, consensus.latent, generator=generator)
    tables = [
        _pixels(originals, "original", CONSENSUS),
        _pixels(_expected(consensus.decode(means)), "reconstruction", CONSENSUS),
    ]
    generated = [_expected(module.decode(codes)) for module in modules]
    tables += [_pixels(shown, "generation", k) for k, shown in enumerate(generated, CONSENSUS)]
    return pd.concat(tables, ignore_index=True).assign(
        reconstruction_loss=reconstruction_loss(consensus, data),
        class_means_loss=class_means_loss(consensus, data),
        workers_variance=workers_variance(torch.stack(generated[1:]).numpy()),
    )


def _expected(logits: Tensor) -> Tensor:
    """The expected images ``[b, c, h, w]`` of a decoder's likelihood, in whole levels 0 to 255.

    ``logits`` are of Bernoulli grey levels ``[b, c, h, w]``, or of 256 levels
    ``[b, 256, c, h, w]``. A model that diverged gives black.
    """
    if logits.dim() == 4:
        levels = 255 * logits.sigmoid()
    else:
        levels = torch.einsum("bvchw,v->bchw", logits.softmax(1), torch.arange(256.0))
    return levels.nan_to_num().round().to(torch.uint8)


def _pixels(images: Tensor, kind: str, worker: int) -> Table:
    names = ["image", "channel", "row", "column"]
    index = pd.MultiIndex.from_product(map(range, images.shape), names=names)
    places = index.to_frame(index=False)
    return pd.DataFrame({"kind": kind, "worker": worker, **places, "value": images.numpy().ravel()})


def _predictions(modules: list[nn.Module], data: Dataset, options: SamplesOptions) -> Table:
    inputs, targets = data.test_inputs, data.test_targets
    x = torch.linspace(float(inputs.min()), float(inputs.max()), options.images)
    tables = []
    for worker, module in enumerate(modules, start=CONSENSUS):
        who = "consensus" if worker == CONSENSUS else "worker"
        tables.append(_curve(who, worker, "prediction", x, module(x[:, None])))
    noisy = slice(NOISY_POINTS)
    tables.append(_curve("data", CONSENSUS, "target", inputs[noisy], targets[noisy]))
    return pd.concat(tables, ignore_index=True)


def _curve(who: str, worker: int, kind: str, x: Tensor, y: Tensor) -> Table:
    points = {"x": x.double().numpy().ravel(), "y": y.double().numpy().ravel()}
    return pd.DataFrame({"who": who, "worker": worker, "kind": kind, **points})


# outputs(modules, data, options) returns the rows of one snapshot, by the task of the models. The
# first module is the consensus model.
OUTPUTS: dict[str, Callable[[list[nn.Module], Dataset, SamplesOptions], Table]] = {
    "vae": _images,
    "regression": _predictions,
}


#: Images that are decoded at once.
BATCH = 500


def reconstruction_loss(model: VAE, data: Dataset) -> float:
    """−log p(x | z) in nats per test image, with the mean of q(z | x) as the code z.

    NaN if the model has diverged.
    """
    losses = []
    for images in data.test_inputs.split(BATCH):
        code, _ = model.encode(images / 255)
        losses.append(_distortion(model.decode(code), images))
    return float(torch.cat(losses).double().mean())


def class_means_loss(model: VAE, data: Dataset) -> float:
    """What ``reconstruction_loss`` is if each test image is replaced by the mean of its class.

    The mean is that of the training images, under the model's likelihood: the mean grey level of
    each pixel, or the frequency of each of its 256 levels, with one count added to each.
    """
    categorical = model.decode(torch.zeros(1, model.latent)).dim() == 5
    total, count = 0.0, 0
    for label in data.train_targets.unique():
        images_of = data.train_inputs[data.train_targets == label]
        logits = _frequencies(images_of) if categorical else _mean(images_of).logit()
        for images in data.test_inputs[data.test_targets == label].split(BATCH):
            repeated = logits.expand(len(images), *logits.shape)
            total += float(_distortion(repeated, images).double().sum())
            count += len(images)
    return total / count


def workers_variance(images: np.ndarray) -> float:
    """The variance between workers of the grey levels, as shares of 1, mean over pixels.

    ``images`` are levels 0 to 255 ``[workers, images, …]``. All workers decode the same codes.
    0 if all workers generate the same; at most 1/4.
    """
    return float((images / 255).var(axis=0).mean())


def _mean(images: Tensor) -> Tensor:
    """The mean image, a share of 1 that is never 0 or 1."""
    return (images.double().sum(0) / 255 + 1 / 2).div(len(images) + 1).float()


def _frequencies(images: Tensor) -> Tensor:
    """The logarithm of the frequency of each level ``[256, c, h, w]``."""
    counts = torch.stack([(images == level).sum(0) for level in range(256)])
    return ((counts + 1) / (len(images) + 256)).log()


def _distortion(logits: Tensor, images: Tensor) -> Tensor:
    """−log p(x | z) ``[b]``: the negative ELBO without divergence."""
    from ngo.models.task import negative_elbo

    none = logits.new_zeros(len(images), 1)
    return negative_elbo((logits, none, none), images)
