"""``benchmarks/gpu_check.py`` without a card: each branch, and with the fewest packages."""

import sys
import time
from contextlib import nullcontext
from importlib import import_module
from types import SimpleNamespace

import pytest
import torch
from conftest import REPOSITORY
from running import finished, start

from ngo.common.registries import BACKENDS
from ngo.engine.population import Stack

FEW = """
import runpy, sys
from importlib.machinery import PathFinder
from importlib.metadata import packages_distributions, requires

kept = {"torch", "numpy", "pyyaml", "pyarrow", "filelock", "networkx", "triton", "ngo-gossip"}
kept |= {word.partition(";")[0].strip(" <>=!~.,0123456789") for word in requires("torch")}
known = packages_distributions()
known = {name: {each.lower().replace("_", "-") for each in of} for name, of in known.items()}
shut = {name for name, of in known.items() if not kept & of}


class Fewest(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        barred = name.partition(".")[0] in shut - {"mpmath", "markupsafe"}  # which torch needs
        return None if barred else PathFinder.find_spec(name, path, target)


sys.meta_path[sys.meta_path.index(PathFinder)] = Fewest
sys.argv = sys.argv[1:]
sys.path.insert(0, sys.argv[0].rpartition("/")[0])
runpy.run_path(sys.argv[0], run_name="__main__")
"""


class Event:
    """A CUDA event, by the clock."""

    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        self.at = time.perf_counter()

    def synchronize(self):
        pass

    def elapsed_time(self, last):
        return 1e3 * (last.at - self.at)


@pytest.fixture
def check(monkeypatch):
    """The script, whose card is the CPU: memory is short where it is limited."""
    monkeypatch.syspath_prepend(str(REPOSITORY / "benchmarks"))
    script = import_module("gpu_check")
    limited = []

    def gradients(stack, batches, take=Stack.gradients):
        if limited and limited[-1] < 1 and stack.runs > 2:
            raise torch.OutOfMemoryError("the limit")
        return take(stack, batches)

    def card(*arguments, options=script.options, **paths):
        args = options(*arguments, **paths)
        args.cuda = True
        return args

    parts = {
        "Event": Event,
        "get_device_name": lambda: "a card",
        "mem_get_info": lambda: (50e9, 100e9),
        "max_memory_allocated": lambda: 2e9,
        "max_memory_reserved": lambda: 2e9,
        "set_per_process_memory_fraction": limited.append,
        "set_sync_debug_mode": lambda mode: None,
        **dict.fromkeys(("synchronize", "empty_cache", "reset_peak_memory_stats"), lambda: None),
    }
    for name, part in parts.items():
        monkeypatch.setattr(torch.cuda, name, part)
    monkeypatch.setattr(Stack, "gradients", gradients)
    monkeypatch.setattr(torch, "compile", lambda module, mode: module)
    monkeypatch.setitem(BACKENDS, "graphs", BACKENDS["loop"])
    monkeypatch.setattr(script, "options", card)
    for name in ("N", "B"):
        monkeypatch.setattr(script, name, 2)
    return SimpleNamespace(script=script, limited=limited)


def lines(text):
    return [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]


@pytest.mark.slow
def test_every_branch_of_a_card_is_entered(check, monkeypatch, tmp_path):
    """TF32 alone is refused on a CPU: it is not measured, and all else is."""
    out = tmp_path / "card.md"
    monkeypatch.setattr(sys, "argv", ["gpu_check.py", "--quick", "--device=cpu", f"--out={out}"])
    assert check.script.main() == 2
    text = out.read_text()
    assert text.startswith("# a card\n\nNothing differs; not all was measured.\n")
    assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == [
        part.__name__ for part in check.script.BUDGETS
    ]
    (tf32,) = (line for line in text.splitlines() if "Error" in line or "skipped" in line)
    assert "UserError: precision: 'tf32' needs a GPU" in tf32
    ways = {row[1] for row in lines(text) if row[0] == "mnist_cnn"}
    assert ways > {"plain PyTorch", "torch.compile", "10 seeds", "50 seeds", "5 seeds, in turn"}
    assert check.limited == [0.03, 1.0]


def test_one_failure_leaves_the_rest_and_a_dead_card_starts_another_process(
    check, monkeypatch, tmp_path
):
    script, started, dead = check.script, [], []

    def broken(args):
        dead.append(True)
        raise RuntimeError("CUDA error: an illegal memory access was encountered\nMore.")

    def synchronize():
        if dead:
            raise RuntimeError("CUDA error")

    def first(args):
        """Two rows."""
        yield {"what": "a"}, lambda: {"is": 1 / 0}
        yield {"what": "b"}, lambda: {"is": float("nan")}

    def second(args):
        """One that ends all, and one."""
        yield {"what": "c"}, lambda: broken(args)
        yield {"what": "d"}, dict

    def late(args):
        """After its time."""
        yield {"what": "e"}, dict

    budgets = {first: 9, second: 9, late: -1}
    monkeypatch.setattr(torch.cuda, "synchronize", synchronize)
    monkeypatch.setattr(script.os, "execv", lambda *given: started.append(given[1][-2:]))
    monkeypatch.setattr(script.os, "environ", environment := {})
    out = tmp_path / "card.md"
    monkeypatch.setattr(sys, "argv", ["gpu_check.py", "--device=cpu", f"--out={out}"])
    assert script.main(budgets) == 1  # NaN differs
    assert started == [["--parts", "late"]]
    assert environment == {script.SO_FAR: "1"}
    dead.clear()
    monkeypatch.setattr(sys, "argv", [*sys.argv, *started[0]])
    assert script.main(budgets) == 1
    text = out.read_text()
    assert text.startswith("# a card\n\nSOMETHING DIFFERS.\n")
    rows = {row[0]: row[1:] for row in lines(text)}
    assert rows["a"] == ["ZeroDivisionError: division by zero"]
    assert rows["b"] == ["", "nan"]
    assert rows["c"] == ["RuntimeError: CUDA error: an illegal memory access was encountered"]
    assert rows["e"] == ["skipped: the time of the part is over"]
    assert "d" not in rows


@pytest.mark.slow
def test_it_runs_with_the_fewest_packages(tmp_path):
    script = REPOSITORY / "benchmarks/gpu_check.py"
    command = [sys.executable, "-c", FEW, script, "--quick", "--device=cpu"]
    bare = {"PATH": "/nowhere", "HOME": str(tmp_path)}
    said = finished(start(command, stderr=None, env=bare))
    rows = lines(said)
    assert ["what", "case", "is"] in rows
    same = [row for row in rows if row[0].startswith(("lockstep −", "device −"))]
    assert len(same) > 5
    assert all(float(row[-1]) < 1e-4 for row in same)  # the device is the CPU
    assert said.endswith("\nNothing differs.\n")


@pytest.mark.slow
def test_every_way_of_a_card_is_entered(check, monkeypatch, tmp_path):
    """Those in TF32 alone are refused on a CPU."""
    ways, out = import_module("gpu_ways"), tmp_path / "ways.md"
    stream = SimpleNamespace(wait_stream=lambda other: None)
    monkeypatch.setattr(torch.cuda, "Stream", lambda: stream)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: stream)
    monkeypatch.setattr(torch.cuda, "stream", lambda side: nullcontext())
    monkeypatch.setattr(ways, "captured", lambda step, generators=(): step)
    monkeypatch.setattr(sys, "argv", ["gpu_ways.py", "--quick", "--device=cpu", f"--out={out}"])
    assert check.script.main(ways.BUDGETS) == 2
    text = out.read_text()
    errors = [row for row in lines(text) if "Error" in row[-1]]
    assert {row[1] for row in errors} == {"tf32"}
    assert all("UserError: precision: 'tf32' needs a GPU" in row[-1] for row in errors)
    measured = {tuple(row[:3]) for row in lines(text) if row[0] == "mnist_cnn"}
    assert ("mnist_cnn", "bfloat16", "one graph, 32 streams") in measured
    assert "skipped" not in text


def test_the_work_of_a_product_is_counted(check):
    common = import_module("common")
    A, B = torch.randn(30, 20), torch.randn(20, 10)
    with common.Work() as work:
        (A.T.T @ B).view(-1).add_(1)  # views are no work
    product = 4 * (30 * 20 + 20 * 10 + 30 * 10)
    assert (work.kernels, work.operations) == (2, 2 * 30 * 20 * 10)
    assert work.bytes == product + 4 * 300
    assert work.seconds == 2 * 2e-6  # small ones take as long as a launch
