"""The registry of quantities."""

import pytest

from verdicts.quantity import QUANTITIES, quantity
from verdicts.registry import UserError


def test_a_quantity_knows_its_arguments(monkeypatch):
    def slope(rows, of, minus=None, *, log=False):
        return rows

    monkeypatch.delitem(QUANTITIES, "test_slope", raising=False)
    assert quantity("test_slope")(slope) is slope
    entry = QUANTITIES.pop("test_slope")
    assert entry.arguments == {"of": True, "minus": False, "log": False}
    assert (entry.function, entry.cases) == (slope, False)
    del QUANTITIES.definitions["test_slope"]


def test_an_unknown_quantity_is_named():
    with pytest.raises(UserError, match="quantity: 'no_such' is unknown"):
        QUANTITIES["no_such"]
