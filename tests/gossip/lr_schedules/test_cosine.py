import pytest
import torch

from ngo.gossip.lr_schedule import LR_SCHEDULES


def test_the_factors_are_those_of_torchs_cosine_schedule():
    steps = 12
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for t in range(steps):
        assert 0.4 * LR_SCHEDULES["cosine"](t / steps) == pytest.approx(
            optimizer.param_groups[0]["lr"]
        )
        optimizer.step()
        scheduler.step()
