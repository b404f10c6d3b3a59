import pandas as pd
from small_theory import small_table

from ngo.analysis.theory_verdicts import verdicts
from ngo.figures.tables import save_table
from ngo.figures.theory_table import printed


def test_the_printed_verdicts_are_plain_enough_for_latex(tmp_path):
    table = verdicts(small_table())
    save_table(table, printed(table), tmp_path / "theory", "A caption.")
    assert (tmp_path / "theory.tex").read_text().isascii()
    assert len(pd.read_csv(tmp_path / "theory.csv")) == len(table)
