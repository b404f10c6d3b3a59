from functools import partial

import pytest
from participants import (
    at_step,
    convex_spec,
    distributed,
    end,
    freeze,
    spec_of,
    surroundings,  # noqa: F401
)

from ngo.common.registry import UserError


def test_a_lost_process_stops_the_others(tmp_path):
    with pytest.raises(UserError) as error:
        distributed(spec_of(workers=4), 4, tmp_path, partial(at_step, 5, 2, end))
    assert "process 2 (worker 2) was killed by SIGKILL" in str(error.value)
    assert "\n" not in str(error.value)
    assert not list((tmp_path / "distributed").iterdir())


def test_a_silent_process_stops_the_others_in_time(tmp_path):
    scenario = partial(at_step, 5, 1, freeze)
    with pytest.raises(UserError, match=r"process 1 \(worker 1\) does not answer"):
        distributed(convex_spec(workers=3), 3, tmp_path, scenario, timeout=2.5)
