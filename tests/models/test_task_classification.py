import math

import pytest
import torch

from ngo.models.task import TASKS


def test_cross_entropy_and_accuracy_by_hand():
    logits, targets = torch.tensor([[0.0, math.log(3)], [2.0, 2.0]]), torch.tensor([1, 1])
    task = TASKS["classification"]
    assert task.loss(logits, targets).tolist() == pytest.approx([math.log(4 / 3), math.log(2)])
    assert task.score(logits, targets).tolist() == [True, False]
    assert task.labelled
