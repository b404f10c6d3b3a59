import pytest
from small_theory import small_parts

from ngo.analysis.theory_verdicts import verdicts


def test_verdicts_are_those_of_the_numbers(tmp_path):
    measured = small_parts(tmp_path)
    table = verdicts(**measured).set_index("statement")
    fails = set(table.index[table["verdict"] == "fails"])
    assert fails == {
        "Theorem 3.1: consensus by T*, as printed",
        "Delay theorem: V vanishes at half the limit, p = 0.5",
        "Delay theorem: V vanishes at half the limit, p = 0.75",
        "Theorem 3.2: V is 0 after T*",
    }
    assert table.loc["Theorem 3.1: consensus by T*, as printed", "ratio"] == pytest.approx(2, 1e-3)
    assert (table["met"] <= table["cases"]).all()
    assert ((table["met"] == table["cases"]) == (table["verdict"] == "holds")).all()
    worse = measured["gaps"].assign(gap=lambda t: 100 * t["gap"])
    spoilt = verdicts(**{**measured, "gaps": worse}).set_index("statement")
    assert spoilt.loc["Theorem 2.1: the gap, gossip", "verdict"] == "fails"
