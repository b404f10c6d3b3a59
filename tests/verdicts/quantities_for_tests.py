"""Quantities and a file of claims for tests of judging."""

import pytest
import yaml

from verdicts.quantities import QUANTITIES, Quantity
from verdicts.registry import UserError


def end(rows, value="score"):
    """The value at the end of each seed's run."""
    if value not in rows:
        raise UserError(f"there is no column {value!r}")
    return rows.loc[rows.groupby("run")["step"].idxmax()].groupby("seed")[value].mean()


def within(rows, limit):
    """Whether each row's score is at most ``limit``."""
    cases = rows[["case", "score"]].rename(columns={"score": "measured"})
    return cases.assign(limit=limit, met=cases["measured"] <= limit)


@pytest.fixture
def quantities(monkeypatch):
    monkeypatch.setitem(QUANTITIES, "end", Quantity("end", end, cases=False))
    monkeypatch.setitem(QUANTITIES, "within", Quantity("within", within, cases=True))


CLAIM = {"place": "Table 1", "says": "A is better than B", "kind": "order", "from": "t"}
CLAIM |= {"quantity": "end", "above": 0}


def write(path, claims, gates=None):
    """A file of claims; each is CLAIM with changes, where None removes a key."""
    entries = {
        name: {key: value for key, value in {**CLAIM, **more}.items() if value is not None}
        for name, more in claims.items()
    }
    path.write_text(yaml.safe_dump({"gates": gates or {}, "claims": entries}, sort_keys=False))
    return path
