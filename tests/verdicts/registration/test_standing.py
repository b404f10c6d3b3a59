"""Whether a claim was registered before its first run."""

from datetime import UTC, datetime

import pandas as pd
import pytest
from made_up_page import row
from quantities_for_tests import quantities, write  # noqa: F401

from verdicts.claims.claims_file import read_claims
from verdicts.registration.registered import Entry
from verdicts.registration.standing import first_runs, standing, with_standing

pytestmark = pytest.mark.usefixtures("quantities")

DAYS = [datetime(2026, 1, day, tzinfo=UTC) for day in range(1, 9)]
NOW, THEN = "1" * 64, "2" * 64


def entries(*forms):
    return [Entry(form, DAYS[day], "") for form, day in forms]


@pytest.mark.parametrize(
    ("registered", "expected"),
    [
        (entries((NOW, 2)), "before"),
        (entries((NOW, 3)), "before"),  # the run began at that time
        (entries((THEN, 1), (NOW, 2)), "before"),
        (entries((NOW, 1), (THEN, 5)), "before"),  # changed, and changed back
        (entries((THEN, 1), (NOW, 4)), "changed"),
        (entries((THEN, 1)), "changed"),  # the change is not registered at all
        (entries((NOW, 4)), "added"),
        (entries((THEN, 4), (NOW, 5)), "added"),
        ([], "added"),
    ],
)
def test_the_form_that_is_judged_counts(registered, expected):
    assert standing(registered, NOW, DAYS[3]) == expected


def test_rows_say_it_where_dates_are_known(tmp_path):
    claims = read_claims(write(tmp_path / "c.yaml", {"a": {}, "b": {}, "c": {}}))
    rows = [row("a"), row("a", cell="x"), row("b"), row("c")]
    known = {"a": [Entry(claims.forms["a"], DAYS[0], "")]}
    first = {"a": DAYS[1], "b": DAYS[1]}
    found = with_standing(rows, claims, known, first)
    assert [each.registered for each in found] == ["before", "before", "added", None]
    assert found[0].registration == "registered before its first run"
    assert found[3].registration == ""
    assert with_standing(rows, claims, None, first) == rows


def test_the_first_run_is_the_first_of_a_claims_rows(tmp_path):
    pool = {"quantity": "pooled", "from": None, "with": {"claims": ["a", "b"]}}
    claims = {
        "a": {"where": {"p": 1}}, "b": {"where": {"p": 2}}, "pool": pool, "none": {"from": "u"},
        "empty": {"where": {"p": 9}},
    }  # fmt: skip
    found = read_claims(write(tmp_path / "c.yaml", claims))
    started = [DAYS[3].isoformat(), DAYS[1].isoformat(), DAYS[5].isoformat(), None]
    tables = {"t": pd.DataFrame({"p": [1, 2, 1, 1], "started": started})}
    first = {"a": DAYS[3], "b": DAYS[1], "pool": DAYS[1]}
    assert first_runs(found, tables) == first
    assert first_runs(found, {"t": tables["t"].drop(columns="started")}) == {}
