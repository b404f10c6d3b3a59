"""Degrees and spectral gaps of topologies against the printed ones (Table S1)."""

from __future__ import annotations

from ngo.common.registry import UserError, unknown
from ngo.common.types import Table
from verdicts.quantity_registry import quantity
from verdicts.statistics.cases import cases

REFERENCE = "config/reference/tableS1_spectral_gap.csv"

FORMS = ("un", "u(n-1)")

CASE = ("topology", "n")


@quantity("printed_gaps", cases=True)
def printed_gaps(rows: Table, reference: str = REFERENCE) -> Table:
    """One case for each printed gap: ours, rounded as the paper rounded, is what it printed."""
    import pandas as pd

    from ngo.analysis.spectra import spectral_comparison

    if rows.merge(pd.read_csv(reference)[list(CASE)]).empty:
        raise UserError(f"workers: {reference} has none of these graphs.")
    table = spectral_comparison(rows, reference)
    table = table[table["paper"].notna()]
    return cases(table, CASE, table["spectral_gap"], table["paper"], table["agrees"] == "yes")


@quantity("smallest_gap", example="{topology: ring}", cases=True)
def smallest_gap(rows: Table, topology: str = "ring") -> Table:
    """One case for each n: the gap of ``topology`` against the smallest of the other topologies."""
    wide = rows.pivot(index="n", columns="topology", values="spectral_gap")
    if topology not in wide:
        raise unknown("topology", topology, map(str, wide.columns))
    others = wide.drop(columns=topology).min(axis=1)
    table = wide.reset_index().assign(topology=topology)
    ours, others = wide[topology].reset_index(drop=True), others.reset_index(drop=True)
    return cases(table, CASE, ours, others, ours < others)


@quantity("random_degrees", example="{form: un}", cases=True)
def random_degrees(rows: Table, form: str = "un") -> Table:
    """One case for each random graph: its mean degree is un or u(n − 1) (``is_degree``)."""
    from ngo.analysis.spectra import DEGREES, is_degree

    if form not in FORMS:
        raise unknown("form", form, FORMS)
    table = rows[rows["topology"] == "random"].assign(form=form)
    expected = DEGREES[form](table["n"], table["u"])
    return cases(table, CASE, table["degree"], expected, is_degree(table, table["form"]))


@quantity("messages_of_a_worker", example="{printed: 18.9}", cases=True)
def messages_of_a_worker(rows: Table, printed: float) -> Table:
    """One case for each graph: the messages of a worker in round 1, on average, to one digit."""
    first = rows[rows["round"] == 1].drop_duplicates(["topology", "workers"])
    measured = first["messages"] / first["workers"]
    return cases(first, ("topology", "workers"), measured, printed, measured.round(1) == printed)
