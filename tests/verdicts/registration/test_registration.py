"""When claims were registered: the file that says so, and what follows from it."""

import subprocess
from datetime import UTC, datetime

import pandas as pd
import pytest
from cases import cases, refused
from made_up_page import row
from quantities_for_tests import quantities, write  # noqa: F401

from verdicts import registration
from verdicts.claims.claims_file import read_claims

pytestmark = pytest.mark.usefixtures("quantities")

FIRST, SECOND = (datetime(2026, 1, day, 12, tzinfo=UTC) for day in (1, 2))
ONE, OTHER = "1" * 64, "2" * 64
CLAIM = "{place: here, says: x, kind: order, from: t, quantity: level, above: ABOVE}"
ENTRY = {"form": f"'{ONE}'", "date": f'"{FIRST.isoformat()}"', "revision": "''"}
DAYS = [datetime(2026, 1, day, tzinfo=UTC) for day in range(1, 9)]


def claims(tmp_path, **above):
    path = tmp_path / "claims.yaml"
    entries = [f"  {id}: {CLAIM.replace('ABOVE', str(value))}" for id, value in above.items()]
    path.write_text("\n".join(["claims:", *entries]) + "\n")
    return path


def test_a_form_other_than_the_last_is_added_and_nothing_is_removed(tmp_path):
    path = claims(tmp_path, a=0, b=0)
    out, *numbers = registration.register(path)
    assert (out, numbers) == (tmp_path / "claims.registered.yaml", [2, 2])
    first = registration.read_registration(out)
    out.write_text("# ours\n" + registration.written(first))
    kept = out.read_text()
    assert registration.register(path)[1:] == (2, 0)
    assert out.read_text() == kept  # nothing is new, and nothing is written
    for above, forms in ((1, 2), (0, 3)):
        assert registration.register(claims(tmp_path, a=above, c=0))[1] == 2
        assert len(registration.read_registration(out)["a"]) == forms
    found = registration.read_registration(out)
    assert found["b"] == first["b"]
    back, changed, again = (entry.form for entry in found["a"])
    assert back == again != changed


def test_the_date_and_the_revision_are_those_of_now(tmp_path):
    path, before = claims(tmp_path, a=0), datetime.now(UTC).replace(microsecond=0)
    (entry,) = registration.read_registration(registration.register(path)[0])["a"]
    assert before <= entry.date <= datetime.now(UTC)
    assert entry.revision == ""
    git = ["git", "-C", str(tmp_path), "-c", "user.name=x", "-c", "user.email=x@x"]
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run([*git, *command], check=True)
    registration.register(claims(tmp_path, a=1))
    head = subprocess.check_output([*git, "rev-parse", "HEAD"], text=True).strip()
    found = registration.read_registration(tmp_path / "claims.registered.yaml")["a"]
    assert [each.revision for each in found] == ["", head]


def test_the_file_has_a_line_for_each_form_and_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "r.yaml"
    forms = [registration.Entry(ONE, FIRST, "abc"), registration.Entry(OTHER, SECOND, "")]
    claims = {"a": forms, "b": forms[:1]}
    for found, lines in ((claims, 6), ({}, 1)):
        path.write_text(registration.written(found))
        assert registration.read_registration(path) == found
        assert (
            sum(not line.startswith("#") for line in registration.written(found).splitlines())
            == lines
        )
    path.write_text(
        registration.written(claims) + f'designs: {{demo: {{t: [{{form: "{ONE}"}}]}}}}\n'
    )
    assert registration.read_registration(path) == claims  # older files have designs


def test_dates_have_a_time_zone():
    assert registration.as_date("date", "2026-01-01T14:00:00+02:00") == FIRST
    for wrong in ("2026-01-01T12:00:00", "soon", None, 3, "9999-12-31T23:59:59-12:00"):
        refused("date: .* is not allowed; give a date like", registration.as_date, "date", wrong)


def line(**changes):
    pairs = ", ".join(f"{name}: {value}" for name, value in {**ENTRY, **changes}.items())
    return f"claims: {{a: [{{{pairs}}}]}}"


@cases(
    "text, message",
    ("claim: {}", "registered: 'claim' is unknown; allowed: claims, designs. Did you mean"),
    ("claims: {a: []}", r"registered.claims.a: \[\] is not allowed"),
    (line(extra=1), r"a\[0\]: 'extra' is unknown; allowed: date, form, revision"),
    (line(form="abc"), r"a\[0\].form: 'abc' is no hash"),
    (line(date="today"), r"a\[0\].date: 'today' is not allowed; give a date"),
)
def test_a_wrong_file_is_refused_in_one_line(tmp_path, text, message):
    (tmp_path / "r.yaml").write_text(text)
    refused(message, registration.read_registration, tmp_path / "r.yaml")


def entries(*forms):
    return [registration.Entry(form, DAYS[day], "") for form, day in forms]


@cases(
    "registered, expected",
    (entries((ONE, 2)), "before"),
    (entries((ONE, 3)), "before"),  # the run began at that time
    (entries((OTHER, 1), (ONE, 2)), "before"),
    (entries((ONE, 0), (OTHER, 1), (ONE, 2)), "before"),  # changed, and changed back
    (entries((ONE, 1), (OTHER, 3)), "changed"),
    (entries((OTHER, 1)), "changed"),  # the change is not registered at all
    (entries((ONE, 4)), "added"),
    ([], "added"),
)
def test_the_last_form_before_the_first_run_counts(registered, expected):
    assert registration.standing(registered, ONE, DAYS[3]) == expected


def test_rows_say_it_where_dates_are_known(tmp_path):
    claims = read_claims(write(tmp_path / "c.yaml", {"a": {}, "b": {}, "c": {}}))
    rows = [row("a"), row("a", cell="x"), row("b"), row("c")]
    known = {"a": [registration.Entry(claims.forms["a"], DAYS[0], "")]}
    first = {"a": DAYS[1], "b": DAYS[1]}
    found = registration.with_standing(rows, claims, known, first)
    assert [each.registered for each in found] == ["before", "before", "added", None]
    assert [each.registration for each in found[::3]] == ["registered before its first run", ""]
    assert registration.with_standing(rows, claims, None, first) == rows


def test_the_first_run_is_the_first_of_a_claims_rows(tmp_path):
    pool = {"quantity": "pooled", "from": None, "with": {"claims": ["a", "b"]}}
    claims = {
        "a": {"where": {"p": 1}}, "b": {"where": {"p": 2}}, "pool": pool, "none": {"from": "u"},
        "empty": {"where": {"p": 9}},
    }  # fmt: skip
    found = read_claims(write(tmp_path / "c.yaml", claims))
    started = [DAYS[3].isoformat(), DAYS[1].isoformat(), DAYS[5].isoformat(), None]
    tables = {"t": pd.DataFrame({"p": [1, 2, 1, 1], "started": started})}
    assert registration.first_runs(found, tables) == {"a": DAYS[3], "b": DAYS[1], "pool": DAYS[1]}
    assert registration.first_runs(found, {"t": tables["t"].drop(columns="started")}) == {}
