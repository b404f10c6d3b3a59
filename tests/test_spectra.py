"""Degrees and spectral gaps of the topologies."""

import pytest

from ngo import graphs, spectra, tables

REFERENCE = "config/reference/tableS1_spectral_gap.csv"


def test_table_s1_agrees_with_the_papers_digits():
    ours = spectra.spectral_table(["ring", "random", "complete"], [4, 16, 36, 64], 0.4, 3, 0)
    table = spectra.spectral_comparison(ours, REFERENCE)
    agrees = {name: set(part["agrees"].dropna()) for name, part in table.groupby("topology")}
    assert agrees == {"ring": {"yes"}, "complete": {"yes"}, "random": set()}
    assert table["paper"].notna().sum() == 8
    assert table.loc[table["topology"] == "complete", "degree"].tolist() == [3, 15, 35, 63]
    wrong = spectra.spectral_comparison(ours.assign(spectral_gap=0.5), REFERENCE)
    assert set(wrong["agrees"].dropna()) == {"no"}


def test_an_edge_returned_in_both_directions_is_one_of_the_degree(monkeypatch):
    monkeypatch.setattr(graphs, "TOPOLOGIES", type(graphs.TOPOLOGIES)("topology"))
    both = [(i, j) for i in range(6) for j in range(6)]
    graphs.topology("own")(lambda n: both)
    (row,) = spectra.spectral_table(["own"], [6], 0.4, 1, 0).to_dict("records")
    assert row["degree"] == 5
    assert row["spectral_gap"] == pytest.approx(1)


def test_the_printed_table_keeps_its_rows():
    ours = spectra.spectral_table(["ring", "random"], [4, 16], 0.4, 2, 0)
    printed = tables.spectra(spectra.spectral_comparison(ours, REFERENCE))
    assert printed["Topology"].tolist() == ["ring", "ring", "random (u = 0.4)", "random (u = 0.4)"]
    assert printed["Paper"].tolist() == ["0.67", "0.05", "–", "–"]
    assert printed["As printed"].tolist() == ["yes", "yes", "–", "–"]
