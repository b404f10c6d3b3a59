"""The entries of a claims file written out."""

import pytest
import yaml

from verdicts.claims.resolved import resolved
from verdicts.registry import UserError

TEXT = """
values: {n: {one: {m: 2}, two: {m: 3}}}
defaults: {d: {from: t, margin: "{n.m}"}}
gates: {"g-{n}": {for_each: {n: all}, above: "{n.m}"}}
claims:
  a-{n}: {for_each: {n: all}, defaults: d, from: u, odd: "{n}"}
  b: {paper: {file: p.csv, column: x, where: {}}}
looks: [10]
"""


def test_all_that_a_claim_has_is_in_its_entry_checked_or_not(tmp_path):
    (tmp_path / "p.csv").write_text("x\n97.5\n")
    found = resolved(yaml.safe_load(TEXT), tmp_path)
    assert found.claims == {
        "a-one": {"from": "u", "margin": 2, "odd": "one"},
        "a-two": {"from": "u", "margin": 3, "odd": "two"},
        "b": {"paper": 97.5},
    }
    assert found.gates == {"g-one": {"above": 2}, "g-two": {"above": 3}}
    assert (found.looks, found.printed) == ([10], (tmp_path / "p.csv",))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (("defaults: d,", "defaults: e,"), "claims.a-{n}.defaults: 'e' is unknown"),
        (("p.csv", "q.csv"), "claims.b.paper.file: .*q.csv' does not exist"),
        (("values: {n:", "values: {k:"), "for_each"),
    ],
)
def test_what_can_not_be_written_out_is_one_line(tmp_path, wrong, message):
    (tmp_path / "p.csv").write_text("x\n97.5\n")
    with pytest.raises(UserError, match=message):
        resolved(yaml.safe_load(TEXT.replace(*wrong)), tmp_path)
