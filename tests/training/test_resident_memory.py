"""The memory of a run stays what it is, however many steps it takes between two evaluations."""

import json
import time
from functools import partial

import psutil
import pytest
import running
import torch

import ngo
from ngo.data.dataset import Dataset
from ngo.models.model import MODELS
from ngo.training.lockstep import together
from ngo.training.run import turns
from ngo.training.spec import DEFAULTS
from ngo.training.spec_checks import resolve

STEPS, EARLY, BOUND = 2000, 200, 100 * 2**20
CASES = {
    "digits": {"dataset": "digits", "model": "mnist_fc"},
    "mnist": {"dataset": "mnist", "model": "mnist_cnn"},
    "cifar10": {"dataset": "cifar10", "model": "cifar10_cnn", "augmentation": "crop_flip"},
}


def noise(name, model, m=4000):
    """Images of the shape of a data set's."""
    images = torch.randint(256, (m, *MODELS[model].input_shape), dtype=torch.uint8)
    classes = torch.arange(m) % 10
    mean, std = torch.full((2, images.shape[1], 1, 1), 0.5)
    return Dataset(name, 10, images, classes, images[:500], classes[:500], mean, std)


def measured(case, way, path):
    """Take the steps; write the resident bytes after EARLY and after STEPS into ``path``."""
    resident = []
    end = time.monotonic() + running.LIMIT

    def progress(step):
        if step in (EARLY, STEPS):
            resident.append(psutil.Process().memory_info().rss)
        assert time.monotonic() < end, step

    data = noise(CASES[case]["dataset"], CASES[case]["model"])
    n, b = 10, 16
    epochs = STEPS * n * b / len(data.train_inputs)
    how = {
        "workers": n,
        "batch_size": b,
        "epochs": epochs,
        "eval_every": epochs,
        "method": "gossip",
    }
    if way == "fit":
        train = data.train_inputs / 255, data.train_targets
        test = data.test_inputs / 255, data.test_targets
        module = MODELS[CASES[case]["model"]].build(torch.Generator())
        ngo.fit(
            module, train, test, progress=False, on_step=lambda state: progress(state.step), **how
        )
    else:
        specs = [resolve({}, {**DEFAULTS, **CASES[case], **how, "seed": seed}) for seed in (0, 1)]
        runs = {
            spec: partial(
                turns, spec, path.parent / spec.id, path.parent, data=data, progress=progress
            )
            for spec in specs
        }
        together(runs, 2 if way == "lockstep" else 1, pytest.fail)
    path.write_text(json.dumps(resident))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "way"),
    [("digits", "fit"), ("mnist", "lockstep"), ("cifar10", "fit"), ("cifar10", "job")],
)
def test_many_steps_between_two_evaluations_take_no_memory(case, way, forked, tmp_path):
    process = forked(target=measured, args=(case, way, tmp_path / "bytes"))
    process.start()
    assert running.exit_code(process) == 0
    early, *_, late = json.loads((tmp_path / "bytes").read_text())
    assert late - early < BOUND
