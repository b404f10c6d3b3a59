"""Whether a claim was registered before its first run."""

from datetime import UTC, datetime

import pandas as pd
import pytest
from made_up_page import row
from quantities_for_tests import quantities, write  # noqa: F401

from verdicts.claims.claims_file import read_claims
from verdicts.registration import Entry, Registration, first_runs, standing, with_standing

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
        (entries((THEN, 0), (NOW, 1), (THEN, 2)), "changed"),  # the last one counts
        (entries((NOW, 0), (THEN, 1), (NOW, 2)), "before"),
        (entries((NOW, 1), (THEN, 3)), "changed"),
        (entries((THEN, 1), (NOW, 4)), "changed"),
        (entries((THEN, 1)), "changed"),  # the change is not registered at all
        (entries((NOW, 4)), "added"),
        (entries((THEN, 4), (NOW, 5)), "added"),
        ([], "added"),
    ],
)
def test_the_last_form_before_the_first_run_counts(registered, expected):
    assert standing([(registered, NOW)], DAYS[3]) == expected


def test_all_parts_must_be_registered():
    known, other, late = entries((NOW, 2)), entries((THEN, 2)), entries((NOW, 4))
    for parts, expected in (
        ([known, known], "before"),
        ([known, late], "added"),
        ([late, known], "added"),
        ([known, other], "changed"),
        ([other, known], "changed"),
        ([late, other], "changed"),
    ):
        assert standing([(each, NOW) for each in parts], DAYS[3]) == expected


def test_rows_say_it_where_dates_are_known(tmp_path):
    claims = read_claims(write(tmp_path / "c.yaml", {"a": {}, "b": {}, "c": {}}))
    rows = [row("a"), row("a", cell="x"), row("b"), row("c")]
    known = Registration({"a": [Entry(claims.forms["a"], DAYS[0], "")]})
    first = {"a": DAYS[1], "b": DAYS[1]}
    found = with_standing(rows, claims, known, first, "")
    assert [each.registered for each in found] == ["before", "before", "added", None]
    assert found[0].registration == "registered before its first run"
    assert found[3].registration == ""
    assert with_standing(rows, claims, None, first, "") == rows


def test_the_registered_designs_of_all_tables_that_a_claim_reads_count(tmp_path):
    pool = {"quantity": "pooled", "from": None, "with": {"claims": ["a", "b"]}}
    content = {
        "a": {"from": ["t", "u"]}, "b": {"from": "v", "gate": "g"}, "c": {"from": "w"},
        "pool": pool, "d": {"from": "not_here"},
    }  # fmt: skip
    gate = {"from": "x", "column": "score", "take": "min", "above": 1, "else": "untrained"}
    claims = read_claims(write(tmp_path / "c.yaml", content, gates={"g": gate}))
    rows, first = [row(id) for id in content], dict.fromkeys(content, DAYS[1])
    known = {id: [Entry(form, DAYS[0], "")] for id, form in claims.forms.items()}

    def found(tier="demo", **changed):
        registered = {name: entries((NOW, 0)) for name in "tuvwx"} | changed
        made = Registration(known, {tier: registered})
        return [each.registered for each in with_standing(rows, claims, made, first, "demo")]

    b, c, a = "before", "changed", "added"
    assert found() == [b, b, b, b, b]
    later = entries((THEN, 0), (NOW, 2))  # the last form is the present one
    assert found(u=later) == [c, b, b, c, b]
    assert found(x=later) == [b, c, b, c, b]
    assert found(w=entries((NOW, 2))) == [b, b, a, b, b]
    assert found(tier="laptop", u=later) == [b] * 5


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
