"""Test accuracy with late messages, failing links, absent workers and compression, for linear
gossip, NGO and its capped form, each at its own best p, γ and learning rate. Right: the gain over
linear gossip under the same disturbance.

*The question:* without disturbances linear gossip may choose a γ at which it agrees faster than
NGO. Is there a disturbance under which nonlinear gossip still helps?
"""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from ngo.analysis.combinations import combination_table, known
from ngo.figures import combinations
from ngo.figures.declaration import figure


@figure(
    "disturbed",
    section="Any method with any coupling",
    title="Training with late messages, failing links, absent workers and compression",
    tables=("disturbed",),
)
def numbers(metrics: pd.DataFrame) -> pd.DataFrame:
    """Each way to mix under each disturbance, see ``combination_table``."""
    ends = metrics.drop_duplicates("run").set_index("run")
    named = metrics.assign(disturbance=metrics["run"].map(disturbances(ends)))
    return combination_table(named, ["disturbance"])


def disturbances(metrics: pd.DataFrame) -> pd.Series:
    """What disturbs each run: ``late messages, τ = 5``; ``none``."""
    return metrics.apply(_disturbance, axis=1)


def _disturbance(run: pd.Series) -> str:
    found = []
    if known(run, "delay", 0):
        found.append(f"late messages, τ = {run['delay']:g}")
    if known(run, "link_failure", 0):
        found.append(f"failing links, {run['link_failure']:.0%}")
    if known(run, "absence", 0):
        found.append(f"absent workers, {run['absence']:.0%}")
    if known(run, "compression", "none"):
        share = f" {run['kept_share']:.0%}" if known(run, "kept_share", None) else ""
        found.append(f"compression, {run['compression']}{share}")
    return "; ".join(found) or "none"


def note(numbers: pd.DataFrame, metrics: pd.DataFrame) -> list[str]:
    """How the values were chosen."""
    return combinations.note(metrics)


def caption(numbers: pd.DataFrame, metrics: pd.DataFrame) -> str:
    """What the columns are."""
    return combinations.caption(numbers, metrics)


def draw(numbers: pd.DataFrame) -> Figure:
    """A row for each disturbance."""
    return combinations.draw_combinations(numbers, "disturbance")


def show(numbers: pd.DataFrame) -> pd.DataFrame:
    """The table as it is printed."""
    return combinations.print_combinations(numbers, Disturbance="disturbance")
