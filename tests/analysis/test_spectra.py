"""Spectral gaps beside the paper's."""

import pandas as pd
import pytest
from made_up import TABLE_S1 as REFERENCE

from ngo.analysis.spectra import spectral_comparison
from ngo.measures.spectra import SpectraOptions, spectral_table


def measured():
    """Rings and complete graphs as ``ngo spectra`` measures them, and a random graph."""
    return spectral_table(SpectraOptions(topology=("ring", "random", "complete"), draws=3))


def test_table_s1_agrees_with_the_papers_digits():
    ours = measured()
    table = spectral_comparison(ours, REFERENCE)
    agrees = {name: set(part["agrees"].dropna()) for name, part in table.groupby("topology")}
    assert agrees == {"ring": {"yes"}, "complete": {"yes"}, "random": set()}
    assert table["paper"].notna().sum() == 8
    assert table.loc[table["topology"] == "complete", "degree"].tolist() == [3, 15, 35, 63]
    forms = table.set_index("topology")[["paper_degree", "degree_agrees"]].drop_duplicates()
    assert forms.loc["ring"].tolist() == ["2", "yes"]
    assert forms.loc["complete"].tolist() == ["n-1", "yes"]
    wrong = spectral_comparison(ours.assign(spectral_gap=0.5), REFERENCE)
    assert set(wrong["agrees"].dropna()) == {"no"}


def random_graph(degree, draws, n=64, u=0.4):
    """A row of a random graph."""
    facts = {"topology": "random", "u": u, "n": n, "draws": draws, "degree": degree}
    return pd.DataFrame([{**facts, "spectral_gap": 0.5}])


@pytest.mark.parametrize(
    ("degree", "draws", "printed", "true"),
    [
        (25.2, 400, "no", "yes"),
        (25.6, 400, "yes", "no"),
        (24.9, 400, "no", "no"),
        (25.4, 10, "undecided", "undecided"),  # 10 draws are within 0.87 of u(n − 1), and of un
    ],
)
def test_a_random_graphs_degree_is_judged_by_its_standard_error(degree, draws, printed, true):
    (row,) = spectral_comparison(random_graph(degree, draws), REFERENCE).to_dict("records")
    assert (row["paper_degree"], row["true_degree"]) == ("un", "u(n-1)")
    assert (row["degree_agrees"], row["true_degree_agrees"]) == (printed, true)


def test_drawn_graphs_have_the_degree_u_times_n_minus_1():
    drawn = spectral_table(SpectraOptions(topology=("random",), workers=(64,), draws=200))
    (row,) = spectral_comparison(drawn, REFERENCE).to_dict("records")
    assert (row["degree_agrees"], row["true_degree_agrees"]) == ("no", "yes")
