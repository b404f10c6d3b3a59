import numpy as np
import pytest
from runs import digits_run

from ngo.common.registry import UserError
from ngo.training.virtual.speeds import SPEEDS


def seconds(count, worker=0, **values):
    """The seconds of a worker's first steps."""
    spec = digits_run(**{"clock": "waiting", **values})
    each = SPEEDS[spec.speed].of(spec)[worker]
    return [each(0.0) for _ in range(count)]


def test_slow_workers_are_the_first_ones():
    slow = {"slow_workers": 2, "slow_factor": 5.0, "step_seconds": 0.1}
    assert [seconds(2, i, **slow) for i in range(3)] == [[0.5] * 2, [0.5] * 2, [0.1] * 2]
    with pytest.raises(UserError, match="slow_workers: 5 is more than the 4 workers; it must be 4"):
        digits_run(clock="waiting", slow_workers=5)


def test_log_normal_steps_have_their_mean_and_spread():
    drawn = np.array(seconds(20_000, speed="log_normal", speed_spread=0.8, step_seconds=3.0))
    assert drawn.mean() == pytest.approx(3.0, rel=0.05)
    assert np.log(drawn).std() == pytest.approx(0.8, rel=0.02)
    assert seconds(3, speed="log_normal") == seconds(3, speed="log_normal")
    assert seconds(3, speed="log_normal") != seconds(3, 1, speed="log_normal")
    assert seconds(3, speed="log_normal") != seconds(3, speed="log_normal", seed=1)


def test_log_normal_workers_draw_once():
    workers = [seconds(2, i, speed="log_normal_workers") for i in range(4)]
    assert all(a == b for a, b in workers)
    assert len({a for a, _ in workers}) == 4
    assert seconds(1, speed="log_normal_workers", speed_spread=0.0) == [1.0]


def test_a_trace_has_the_seconds_from_a_time_on(tmp_path):
    rows = [f"0,{i},1" for i in range(4)] + ["10,2,3"]
    path = tmp_path / "speeds.csv"
    path.write_text("time,worker,seconds\n" + "\n".join(rows))
    spec = digits_run(clock="waiting", speed="speed_trace", speed_file=str(path))
    each = SPEEDS[spec.speed].of(spec)
    assert [each[2](start) for start in (0.0, 9.9, 10.0, 99.0)] == [1, 1, 3, 3]
    assert each[3](99.0) == 1
    path.write_text("time,worker,seconds\n0,0,1\n1,1,1\n")
    with pytest.raises(UserError, match="speed_file: .* no row of worker 1 with time 0"):
        digits_run(clock="waiting", speed="speed_trace", speed_file=str(path))
