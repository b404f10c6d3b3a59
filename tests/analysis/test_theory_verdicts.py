import pytest
from small_theory import small_table

from ngo.analysis.theory_verdicts import STATEMENTS, verdicts
from verdicts.quantity import QUANTITIES

FAILS = {
    "Theorem 3.1: consensus by T*, as printed",
    "Theorem 2.1: the gap, centralized, as printed",
    "Theorem 2.1: the gap, gossip, as printed",
    "Theorem 3.2: V is 0 after T*",
    "Section 3.3: the descent lemma, main text",
    "Figure 3: the smaller p, the sooner consensus",  # one of four starts
    "Delay theorem: rounds of length 1 as printed, p = 1",
    "Delay theorem: V vanishes at half the limit, p < 1",
    "Delay theorem: V within a factor 2 of its floor without delay, p < 1",
    "Delay theorem: the limit included, main text",
    "Random graphs: consensus, weights 0 or 1 as printed",
}


def test_verdicts_are_those_of_the_numbers():
    table = verdicts(small_table()).set_index("statement")
    assert set(table.index[table["verdict"] == "fails"]) == FAILS
    assert table.loc["Theorem 3.1: consensus by T*, as printed", "ratio"] == pytest.approx(2, 1e-3)
    assert (table["met"] <= table["cases"]).all()
    assert ((table["met"] == table["cases"]) == (table["verdict"] == "holds")).all()


def test_a_spoilt_measurement_changes_its_verdict_alone():
    table = small_table()
    gossip = (table["kind"] == "gaps") & (table["method"] == "gossip") & (table["T"] > 1)
    spoilt = table.assign(gap=table["gap"].where(~gossip, 1000 * table["gap"]))
    before, after = (verdicts(each).set_index("statement")["verdict"] for each in (table, spoilt))
    assert set(before.index[before != after]) == {
        "Theorem 2.1: the gap, gossip, with ‖x⁰ − x*‖²",
        "Section 3.3: SGD with gossip or NGO converges",
    }


def test_every_quantity_with_cases_of_the_theory_table_has_a_statement():
    known = {n for n, each in QUANTITIES.items() if n.startswith("theory_") and each.cases}
    assert {name for _, name, _ in STATEMENTS} == known
    assert len({statement for statement, _, _ in STATEMENTS}) == len(STATEMENTS)
