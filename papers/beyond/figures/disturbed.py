"""Test accuracy with late messages, failing links, absent workers and compression, for linear
gossip, NGO and its capped form, each at its own best p, γ and learning rate. Right: the gain over
linear gossip under the same disturbance.

*The question:* without disturbances linear gossip may choose a γ at which it agrees faster than
NGO. Is there a disturbance under which nonlinear gossip still helps?
"""

from __future__ import annotations

import pandas as pd

from ngo import plots
from ngo.analysis.combinations import combination_table, known
from ngo.plots import combinations
from ngo.plots.combinations import caption, note  # noqa: F401
from ngo.plots.declaration import figure

WORDS = {
    "delay": "late messages, τ = {:g}",
    "link_failure": "failing links, {:.0%}",
    "absence": "absent workers, {:.0%}",
}


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
    found = [words.format(run[name]) for name, words in WORDS.items() if known(run, name, 0)]
    if known(run, "compression", "none"):
        share = f" {run['kept_share']:.0%}" if known(run, "kept_share", None) else ""
        found.append(f"compression, {run['compression']}{share}")
    return "; ".join(found) or "none"


def draw(numbers: pd.DataFrame) -> plots.Figure:
    """A row for each disturbance."""
    return combinations.draw_combinations(numbers, "disturbance")


def show(numbers: pd.DataFrame) -> pd.DataFrame:
    """The table as it is printed."""
    return combinations.print_combinations(numbers, Disturbance="disturbance")
