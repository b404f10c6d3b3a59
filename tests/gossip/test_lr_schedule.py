from types import SimpleNamespace

import pytest
import torch

from ngo.common.fields import above, number
from ngo.common.options import DECLARED
from ngo.common.registry import UserError
from ngo.gossip.schedule import LR_SCHEDULES, learning_rate, lr_schedule

T = 12
DROPS = {"lr_drop_factor": 0.1, "lr_first_drop": 0.5, "lr_second_drop": 0.75}


def rates(schedule, *, steps=T, lr=0.4, warmup=0.0, **values):
    run = SimpleNamespace(lr=lr, lr_schedule=schedule, warmup=warmup, **values)
    return [learning_rate(run, t, steps) for t in range(steps)]


def torchs(make):
    """The learning rates of a schedule of torch, which ``make`` gives for an optimizer."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.4)
    scheduler = make(optimizer)
    found = []
    for _ in range(T):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return found


def test_a_schedule_is_registered_by_its_name_with_options(own_entries):
    level = number("the factor", 0.5, above(0))

    @lr_schedule("level", options={"level": level})
    def constant_factor(share, run):
        return run.level

    assert LR_SCHEDULES["level"].factor is constant_factor
    assert LR_SCHEDULES["level"].fields == ("level",)
    assert DECLARED["level"].owners == ("lr_schedule",)
    assert rates("level", level=0.25, lr=2.0) == [0.5] * T
    with pytest.raises(UserError, match=r"lr_schedule: 'cosin' is unknown.*Did you mean 'cosine'"):
        LR_SCHEDULES["cosin"]


def test_cosine_is_torchs():
    expected = torchs(lambda optimizer: torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T))
    assert rates("cosine") == pytest.approx(expected)


@pytest.mark.parametrize(("second", "milestones"), [(0.75, [6, 9]), (1.0, [6])])
def test_steps_are_torchs_milestones(second, milestones):
    expected = torchs(lambda sgd: torch.optim.lr_scheduler.MultiStepLR(sgd, milestones, gamma=0.1))
    assert rates("step", **{**DROPS, "lr_second_drop": second}) == pytest.approx(expected)


@pytest.mark.parametrize("schedule", ["constant", "cosine", "step"])
def test_a_warm_up_is_linear_and_then_leaves_the_schedule_alone(schedule):
    plain, warm = (rates(schedule, warmup=share, **DROPS) for share in (0.0, 0.25))
    factors = [w / p for w, p in zip(warm, plain, strict=True)]
    assert factors == pytest.approx([1 / 3, 2 / 3, *[1] * (T - 2)])
    assert min(rates(schedule, warmup=0.99, **DROPS)) > 0
