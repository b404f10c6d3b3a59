import logging
import os
import time
from functools import partial

import pytest

from ngo.bench.turns import Turns, synchronize, turns
from ngo.common.registry import UserError


def sleeping(seconds, part=0.0):
    """Work of known duration, in a process other than the test's."""
    assert os.getpid() != TEST

    def step():
        time.sleep(seconds)
        return part

    return step


TEST = int(os.environ.setdefault("NGO_TEST_PROCESS", str(os.getpid())))


def failing():
    raise ValueError("no such model")


def test_ways_take_turns_in_their_own_processes(caplog):
    caplog.set_level(logging.INFO, "ngo")
    ways = {"short": partial(sleeping, 0.001), "long": partial(sleeping, 0.05, 0.01)}
    taken = turns(ways, 3, "sleep", least=0.01)
    assert 0.001 <= taken.seconds("short") < 0.05 <= taken.seconds("long")
    assert taken.ratio("long", "short") > 1
    assert taken.share("short") == 0
    assert 0 < taken.share("long") <= 0.2
    starts = ["sleep: start of short", "sleep: start of long"]
    assert caplog.messages == starts + [f"sleep: turn {k} of 3" for k in (1, 2, 3)]


def test_ratios_and_shares_are_medians_over_the_rounds():
    taken = Turns({"a": [(1, 0.1), (4, 2), (30, 9)], "b": [(2, 0), (2, 0), (10, 0)]})
    assert taken.seconds("a") == 4
    assert taken.ratio("a", "b") == 2  # of 0.5, 2, 3
    assert taken.ratio("b", "a") == 0.5
    assert taken.share("a") == 0.3  # of 0.1, 0.5, 0.3


def test_a_way_that_fails_is_named():
    with pytest.raises(UserError, match="bench: 'broken' failed; its traceback is above"):
        turns({"broken": failing}, 1, "none")


def test_a_cpu_needs_no_synchronization():
    synchronize("cpu")
