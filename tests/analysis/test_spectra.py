"""Spectral gaps beside the paper's."""

from made_up import TABLE_S1 as REFERENCE

from ngo.analysis.spectra import spectral_comparison
from ngo.measures.spectra import SpectraSettings, spectral_table


def measured():
    """Rings and complete graphs as ``ngo spectra`` measures them, and a random graph."""
    return spectral_table(SpectraSettings(topology=("ring", "random", "complete"), draws=3))


def test_table_s1_agrees_with_the_papers_digits():
    ours = measured()
    table = spectral_comparison(ours, REFERENCE)
    agrees = {name: set(part["agrees"].dropna()) for name, part in table.groupby("topology")}
    assert agrees == {"ring": {"yes"}, "complete": {"yes"}, "random": set()}
    assert table["paper"].notna().sum() == 8
    assert table.loc[table["topology"] == "complete", "degree"].tolist() == [3, 15, 35, 63]
    wrong = spectral_comparison(ours.assign(spectral_gap=0.5), REFERENCE)
    assert set(wrong["agrees"].dropna()) == {"no"}
