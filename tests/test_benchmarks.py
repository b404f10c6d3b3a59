"""Each script of benchmarks/ runs, and prints its table."""

import sys

import pytest
from conftest import REPOSITORY
from running import finished, start

TABLES = {
    "training_step": "| model | n | b | way | samples a second | time, of one model's |",
    "consensus": "| graph | n | d | way | ms | of a copy's |",
    "many_workers": "| n | way | ms | of ngo's |",
    "startup": "| command | seconds |",
    "gpu_check": "| what | case | is |",
}


# Each takes ten seconds or more.
LONG = ("training_step", "many_workers", "startup", "gpu_check")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in LONG else n for n in TABLES]
)
def test_a_script_prints_its_table(name):
    command = [sys.executable, REPOSITORY / f"benchmarks/{name}.py", "--quick", "--device=cpu"]
    lines = finished(start(command, stdout=-1, text=True)).splitlines()
    assert TABLES[name] in lines
    if name == "gpu_check":  # the device is the CPU: no difference
        same = [line for line in lines if "lockstep −" in line or "device −" in line]
        assert len(same) > 5
        assert all(line.endswith("| 0 |") for line in same)


def test_every_script_is_tried():
    assert {path.stem for path in (REPOSITORY / "benchmarks").glob("*.py")} == {*TABLES, "common"}
