import pytest
import torch
from runs import digits_run, interrupted, left, run_in, tiny, trained, without_clock


@pytest.mark.parametrize(
    "fields",
    [{}, {"method": "d2"}, {"method": "choco"}, {"method": "centralized"}, {"absence": 0.2}],
    ids=str,
)
def test_waiting_changes_no_model(digits, fields):
    without = trained(digits_run(**fields), digits)
    timed = trained(digits_run(clock="waiting", speed="log_normal", latency=0.1, **fields), digits)
    assert torch.equal(without[1].X, timed[1].X)
    for row, other in zip(without_clock(without[0]), without_clock(timed[0]), strict=True):
        assert (other["virtual_seconds"] > 0) == (row["step"] > 0)
        of_time = {"joules": 0, "virtual_seconds": 0}
        assert row | of_time == other | of_time


def test_equal_speeds_without_latency_take_a_step_each(digits):
    rows, _ = trained(digits_run(clock="waiting", step_seconds=0.25, joules_step=3.0), digits)
    assert [row.virtual_seconds for row in rows] == [row.step / 4 for row in rows]
    assert [row.joules for row in rows] == [12 * row.step for row in rows]


def test_a_run_continues_from_its_checkpoint(tmp_path):
    spec = tiny(clock="waiting", speed="log_normal", latency=0.2, bandwidth=1e4)
    run_in(spec, tmp_path / "whole")
    interrupted(spec, tmp_path / "stopped", step=7)
    run_in(spec, tmp_path / "stopped")
    assert left(tmp_path / "stopped") == left(tmp_path / "whole")
