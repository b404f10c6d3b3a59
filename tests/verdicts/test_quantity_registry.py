"""The registry of quantities."""

import sys
from importlib.util import find_spec

from running import finished, start

import verdicts
from verdicts.quantity_registry import QUANTITIES, quantity


def test_a_quantity_knows_its_arguments(monkeypatch):
    def slope(rows, of, minus=None, *, log=False):
        return rows

    monkeypatch.delitem(QUANTITIES, "test_slope", raising=False)
    assert quantity("test_slope")(slope) is slope
    entry = QUANTITIES.pop("test_slope")
    assert entry.arguments == {"of": True, "minus": False, "log": False}
    assert (entry.function, entry.cases) == (slope, False)
    del QUANTITIES.definitions["test_slope"]


def test_no_name_of_the_package_is_also_a_module():
    assert [name for name in verdicts.__all__ if find_spec(f"verdicts.{name}")] == []


def test_the_list_of_quantities_imports_no_pandas():
    heavy = "{'pandas', 'scipy', 'pyarrow'}"
    code = f"import sys, verdicts; print(sorted({heavy} & set(sys.modules)))"
    assert finished(start([sys.executable, "-c", code])).strip() == "[]"
