"""Theory beside measurement: a figure, and a verdict on each statement."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ngo.analysis.theory_verdicts import split, verdicts
from ngo.figures import plots
from ngo.figures.output import Output
from ngo.figures.style import house_style
from ngo.figures.tables import save_table
from ngo.figures.theory_plots import theory_figure
from ngo.figures.theory_table import printed as printed_table


@house_style()
def make(metrics: str | Path, tier: str, out: str | Path) -> Output:
    """Draw and save the figure and the table from the measurements."""
    shown = pd.read_parquet(metrics).assign(tier=tier)
    measured = shown.drop(columns="tier")
    parts = split(measured)
    figure = theory_figure(*(parts[kind] for kind in ("bounds", "delays", "gaps", "floors")))
    plots.caption(figure, "Grey: measured as theory says.", f"Tier {tier}; no data set.")
    picture = plots.save_figure(figure, f"{out}/figures/theory", shown)
    table = verdicts(measured).assign(tier=tier)
    printed = printed_table(table)
    save_table(
        table,
        printed,
        f"{out}/tables/theory",
        "Theory beside measurement. The case that is hardest on each statement, and in how many of "
        f"the cases it is met. Tier {tier}; no data set.",
    )
    return Output(picture, (printed,))
