"""The names that ``import ngo`` offers, and registries that are full whatever is imported first."""

import inspect
import json
import re
import sys

import pytest
from conftest import REPOSITORY
from running import finished, start

import ngo
import verdicts

HEAVY = ("torch", "numpy", "pandas", "matplotlib", "scipy")
REGISTRIES = """
import importlib, json, sys
importlib.import_module(sys.argv[1])
from ngo.data.dataset import DATASETS
from ngo.data.partition import PARTITIONS
from ngo.gossip.coupling import COUPLINGS
from ngo.gossip.method import METHODS
from ngo.gossip.topology import TOPOLOGIES
from ngo.measures.measurement import MEASUREMENTS
from ngo.models.model import MODELS
found = (DATASETS, PARTITIONS, COUPLINGS, METHODS, TOPOLOGIES, MEASUREMENTS, MODELS)
print(json.dumps([list(each) for each in found]))
"""


def test_every_name_is_there_and_an_unknown_one_is_an_attribute_error():
    assert all(getattr(ngo, name) is not None and name in dir(ngo) for name in ngo.__all__)
    with pytest.raises(AttributeError, match="module 'ngo' has no attribute 'fitt'"):
        _ = ngo.fitt


def test_importing_the_package_imports_nothing_heavy():
    code = f"import sys, ngo; print([name for name in {HEAVY} if name in sys.modules])"
    assert finished(start([sys.executable, "-c", code])).strip() == "[]"


STEPPERS_IMPORTED = """
import sys, torch, ngo
data = torch.randn(40, 2), torch.zeros(40, dtype=torch.int64)
for clock in ("steps", "waiting", "asynchronous"):
    ngo.fit(torch.nn.Linear(2, 2), data, data, workers=4, epochs=1, batch_size=5, clock=clock)
    print(*(name for name in sys.modules if name.endswith("_stepper")))
"""


def test_a_run_imports_the_stepper_of_its_clock_alone():
    told = finished(start([sys.executable, "-c", STEPPERS_IMPORTED])).splitlines()
    waiting, asynchronous = (f"ngo.virtual.{k}_stepper" for k in ("waiting", "asynchronous"))
    assert told == ["", waiting, f"{waiting} {asynchronous}"]


def test_the_order_of_entries_does_not_depend_on_what_is_imported_first():
    first, other = (
        json.loads(finished(start([sys.executable, "-c", REGISTRIES, name])))
        for name in ("ngo.training.spec", "ngo.gossip.methods.push_and_relay_sums")
    )
    assert all(first)
    assert first == other


def test_all_that_is_not_the_judge_imports_its_public_modules_alone():
    public = {name for name in verdicts.__all__ if inspect.ismodule(getattr(verdicts, name))}
    places = ("src/ngo", "notebooks", "papers", "tools", "benchmarks", "workflow", "examples")
    files = [path for place in places for path in (REPOSITORY / place).rglob("*.*")]
    imported = {
        (path.name, module)
        for path in files
        if path.suffix in (".py", ".ipynb", ".smk")
        for module in re.findall(r"\b(?:from|import) verdicts\.([\w.]+)", path.read_text("utf-8"))
    }
    assert len(imported) > 100
    assert [(name, module) for name, module in imported if module not in public] == []
