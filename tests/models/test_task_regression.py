import torch

from ngo.models.task import TASKS


def test_squared_error_is_the_mean_over_outputs():
    outputs, targets = (
        torch.tensor([[1.0, 2.0], [0.0, 0.0]]),
        torch.tensor([[0.0, 0.0], [3.0, 0.0]]),
    )
    assert TASKS["regression"].loss(outputs, targets).tolist() == [2.5, 4.5]
    assert TASKS["regression"].score is None
    assert not TASKS["regression"].labelled
