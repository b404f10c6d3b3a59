import sys

import torch

from ngo.common import plugins
from ngo.data.dataset import Dataset
from ngo.models.task import TASKS, normalised_batch

HUBER = """
from ngo.models.task import normalised_batch, task

@task("huber", batch=normalised_batch, labelled=False)
def huber(outputs, targets):
    from torch.nn.functional import huber_loss
    return huber_loss(outputs, targets, reduction="none").mean(1)
"""


def test_a_task_of_a_plugin(tmp_path, monkeypatch):
    monkeypatch.setattr(plugins, "_loaded", {})
    (tmp_path / "huber.py").write_text(HUBER)
    plugins.load([tmp_path / "huber.py"])
    del sys.modules[f"{plugins.PREFIX}huber"]
    task = TASKS.pop("huber")
    assert TASKS.definitions.pop("huber") == f"{plugins.PREFIX}huber:huber"
    assert (task.score, task.labelled) == (None, False)
    assert task.loss(torch.tensor([[0.0], [3.0]]), torch.zeros(2, 1)).tolist() == [0.0, 2.5]


def test_a_normalised_batch():
    """Images are normalised; real inputs and all targets are unchanged."""
    images = torch.tensor([0, 255], dtype=torch.uint8).view(2, 1, 1, 1)
    labels, half = torch.tensor([0, 1]), torch.full((1, 1, 1), 0.5)
    data = Dataset("x", 2, images, labels, images, labels, mean=half, std=half)
    inputs, targets = normalised_batch(data, images, labels)
    assert inputs.flatten().tolist() == [-1, 1]
    assert targets is labels
    real = torch.ones(2, 3)
    assert normalised_batch(data, real, labels)[0] is real
