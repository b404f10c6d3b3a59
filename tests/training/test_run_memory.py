import sys

import pytest
import torch
from running import finished, start
from runs import digits_run

from ngo.common.registry import UserError
from ngo.training import problem_checks as module
from ngo.training.learning_problem import make_problem
from ngo.training.problem_checks import check_memory, run_memory
from ngo.training.stepper import Stepper

CPU = torch.device("cpu")

# By how much a run of 80 workers raises the largest memory of a process that has made a small one,
# and the estimate.
MEASURED = """
import pathlib, torch
from ngo.data.dataset import Dataset, Source
from ngo.training.learning_problem import make_problem
from ngo.training.validation import resolve
from ngo.training.problem_checks import PROGRAM, run_memory
from ngo.training.stepper import Stepper

def largest(n):
    given = {"dataset": "own", "model": "mnist_fc", "workers": n, "batch_size": 2, "lr": 0.05}
    spec = resolve(given, source=Source(None, None, 4 * n, (1, 28, 28), 10))
    images = [torch.randint(256, (m, 1, 28, 28), dtype=torch.uint8) for m in (4 * n, 9)]
    classes = [torch.randint(10, (m,)) for m in (4 * n, 9)]
    norm = [torch.full((1, 1, 1), value) for value in (0.5, 0.3)]
    data = Dataset("own", 10, images[0], classes[0], images[1], classes[1], *norm)
    problem = make_problem(spec, data)
    Stepper(spec, problem).advance()
    estimate = sum(run_memory(spec, problem).values()) - PROGRAM
    status = pathlib.Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024, estimate

torch.set_num_threads(1)
before, _ = largest(2)
after, estimate = largest(80)
print(after - before, estimate)
"""


def needs(digits, **values):
    spec = digits_run(**values)
    return run_memory(spec, make_problem(spec, digits))


def test_dense_graphs_need_memory_for_edges(digits):
    assert needs(digits, topology="complete", workers=12)["edges"] == 80 * 12 * 11
    assert needs(digits, topology="random", u=0.5, workers=12)["edges"] == 40 * 12 * 11
    assert needs(digits, topology="ring", workers=12)["edges"] == 0
    assert needs(digits, topology=None, method="centralized")["edges"] == 0


def test_a_run_that_cannot_fit_is_refused_before_it_allocates(digits, monkeypatch):
    monkeypatch.setattr(module, "memory_limit", lambda: 2 * 10**9)
    monkeypatch.setattr("ngo.training.stepper.Population", None)
    spec = digits_run(workers=4)
    problem = make_problem(spec, digits)
    check_memory(spec, run_memory(spec, problem), CPU)
    monkeypatch.setattr(module, "WORKER", 10**9)
    line = (
        "workers: 4 with model '.*' need about 4.3 GB .*modules 4.0 GB.* may use 2.0 GB; use fewer"
    )
    with pytest.raises(UserError, match=line):
        Stepper(spec, problem)


def test_a_gpu_has_its_own_memory(digits, monkeypatch):
    class Card:
        total_memory = 10**8

    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: Card)
    spec = digits_run()
    with pytest.raises(UserError, match="and the GPU has 100 MB"):
        check_memory(spec, run_memory(spec, make_problem(spec, digits)), torch.device("cuda"))


@pytest.mark.skipif(sys.platform != "linux", reason="no /proc")
def test_the_estimate_is_about_what_a_run_takes():
    found, estimate = map(int, finished(start([sys.executable, "-c", MEASURED])).split())
    assert 0.7 * estimate < found < 1.3 * estimate
