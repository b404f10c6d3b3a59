"""Registries are full, and in one order, whatever is imported first."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import ngo
from ngo import entries

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
from verdicts.quantity_registry import QUANTITIES
found = (DATASETS, PARTITIONS, COUPLINGS, METHODS, TOPOLOGIES, MEASUREMENTS, MODELS)
print(json.dumps([list(each) for each in found]))
"""


def order(first):
    out = subprocess.check_output([sys.executable, "-c", REGISTRIES, first], text=True, timeout=120)
    return json.loads(out)


def test_the_order_of_entries_does_not_depend_on_what_is_imported_first():
    expected = order("ngo.training.spec")
    assert all(expected)
    for first in ("ngo.pipeline.plan", "ngo.gossip.methods.sums", "ngo.measures.rounds"):
        assert order(first) == expected


@pytest.mark.parametrize("folder", entries.PACKAGES)
def test_a_folder_fills_its_own_registries_only(folder):
    assert all(f"{each}.".startswith(f"{folder}.") for each in entries.PACKAGES[folder])


def test_no_module_imports_another_at_its_bottom():
    """Imports come first: after the first definition, no statement of a module imports."""
    import ast

    for path in Path(ngo.__file__).parent.rglob("*.py"):
        seen = False
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            seen |= isinstance(node, ast.FunctionDef | ast.ClassDef)
            assert not (seen and isinstance(node, ast.Import | ast.ImportFrom)), path
            called = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
            name = getattr(getattr(node, "value", None), "func", None)
            assert not (called and getattr(name, "id", "") == "load_entries"), path
