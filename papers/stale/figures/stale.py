"""Test accuracy against virtual seconds, of the mean model and of the workers' own models: with
equal workers, with a slow one, with slow links and with churn. NGO and linear gossip with and
without waiting, asynchronous push-sum and pairwise averaging, each at its own best values.

*The question:* a worker that does not wait mixes with older models of its neighbours. Does
nonlinear gossip help there more than where all models are new?
"""

from __future__ import annotations

import pandas as pd

from ngo.analysis.combinations import TUNED, listed
from ngo.analysis.curves import along
from ngo.analysis.seed_means import over_seeds
from ngo.figures import captions, plots
from ngo.figures.combinations import at_an_end, best_values
from ngo.figures.comparison_tables import with_interval
from ngo.figures.curve_panels import lines
from ngo.figures.declaration import Tables, figure
from ngo.figures.style import METHOD_STYLES, kth_style
from verdicts.rows.best_fields import at_best
from verdicts.rows.evaluations import at_equal

CASE = ["condition", "case"]
CURVES, BEST = "stale", "stale_best"

# The accuracies, and their columns.
MODELS = {"mean model": "consensus_accuracy", "workers": "workers_accuracy_mean"}

LOOKS = {
    "ngo": METHOD_STYLES["ngo"],
    "gossip": METHOD_STYLES["gossip"].named("linear gossip"),
    "async_push_sum": kth_style(2, "push-sum"),
    "ad_psgd": kth_style(3, "pairwise averaging"),
}
# The styles of cases by their names, in the order of the table.
STYLES = {look.label: look for look in LOOKS.values()}
STYLES |= {
    name: STYLES[name.removesuffix(", waiting")].variant(3, name)
    for name in ("NGO, waiting", "linear gossip, waiting")
}

NOTE = (
    "Each case at its own best p, γ and learning rate among those tried: for the mean model by "
    "held-out accuracy, for the workers' models by their test accuracy, over all seeds. Runs end "
    "at the virtual second at which a run without waiting does."
)


@figure(
    "stale",
    section="Stale models",
    title="Accuracy in virtual time, with workers that wait and workers that do not",
    reads={"asynchronous": "asynchronous", "waiting": "waiting"},
    tables=("stale_best",),
    stands_for="",
)
def numbers(asynchronous: pd.DataFrame, waiting: pd.DataFrame) -> Tables:
    """The courses of all cases at their best values, and the accuracies and values at the end.

    The end of a condition is the virtual second at which the first of its runs ends.
    """
    runs = pd.concat([asynchronous, waiting], ignore_index=True)
    runs = runs.assign(condition=_conditions(runs), case=_cases(runs))
    values = [*MODELS.values(), "holdout_accuracy"]
    ends = at_equal(runs, "virtual_seconds", values, ["condition", "seed"])
    courses, best = [], []
    for models, column in MODELS.items():
        chosen = at_best(ends, TUNED, CASE, by=None if models == "mean model" else column)
        course = runs[runs["run"].isin(chosen["run"])]
        course = course.assign(accuracy=100 * course[column])
        courses.append(along(course, CASE, "virtual_seconds", ["accuracy"]).assign(models=models))
        best.append(_at_the_end(ends, chosen, column).assign(models=models))
    by = ["churn", "slow_links", "slow_factor"]
    disturbed = runs.drop_duplicates("condition").sort_values(by, ascending=[False, True, True])
    order = {name: k for k, name in enumerate([*disturbed["condition"], *STYLES])}
    table = pd.concat(best).sort_values(CASE, key=lambda names: names.map(order), kind="stable")
    return {CURVES: pd.concat(courses, ignore_index=True), BEST: table.reset_index(drop=True)}


def _conditions(runs: pd.DataFrame) -> pd.Series:
    """What disturbs each run, in words."""

    def told(run: pd.Series) -> str:
        if run["slow_workers"]:
            return f"one worker {run['slow_factor']:g} × slower"
        if run["slow_links"]:
            return f"{100 * run['slow_links']:.0f} % of the links slow"
        return "equal workers" if run["churn"] == "none" else "workers leave and come"

    first = runs.drop_duplicates("run").set_index("run")
    return runs["run"].map(first.apply(told, axis=1))


def _cases(runs: pd.DataFrame) -> pd.Series:
    """The method, and whether workers wait."""
    waits = (runs["clock"] == "waiting").map({True: ", waiting", False: ""})
    return runs["method"].map({name: look.label for name, look in LOOKS.items()}) + waits


def _at_the_end(ends: pd.DataFrame, chosen: pd.DataFrame, column: str) -> pd.DataFrame:
    """A row for each case: its accuracy in percent, the values chosen, and those tried."""
    found = over_seeds(chosen.assign(accuracy=100 * chosen[column]), CASE, "accuracy")
    first = chosen.groupby(CASE, sort=False)
    picked = first.agg(
        seconds=("budget", "mean"),
        **{name: (name, "first") for name in TUNED},
        diverged=("diverged", "sum"),
    )
    tried = ends.groupby(CASE)[TUNED].agg(listed).add_suffix("_tried")
    table = picked.join(tried).reset_index()
    return table.merge(found, on=CASE)


def note(numbers: Tables, asynchronous: pd.DataFrame, waiting: pd.DataFrame) -> list[str]:
    """How the values were chosen, and what is drawn."""
    return [NOTE, captions.intervals(asynchronous, geometric=False)]


def caption(numbers: Tables, asynchronous: pd.DataFrame, waiting: pd.DataFrame) -> str:
    """What the columns are."""
    return (
        f"Test accuracy in percent after equally many virtual seconds, "
        f"{captions.mean_over_seeds(asynchronous)}. {NOTE} {at_an_end(numbers[BEST])}"
    ).strip()


def draw(numbers: Tables) -> plots.Figure:
    """A panel for each condition: above of the mean model, below of the workers' own models."""
    curves = numbers[CURVES]
    conditions = list(dict.fromkeys(numbers[BEST]["condition"]))
    ends = numbers[BEST].groupby("condition")["seconds"].max()
    across = min(3, len(conditions))
    rows = -(-len(conditions) // across)
    height = 2 * rows
    figure, grid = plots.panels(1.9 * height + 0.9, height, across)
    names = []
    for models, axes in zip(MODELS, (grid[:rows], grid[rows:]), strict=True):
        for axis, condition in zip(axes.flat, conditions, strict=False):
            own = curves[(curves["models"] == models) & (curves["condition"] == condition)]
            parts = dict(list(own.groupby("case")))
            cases = [(look, parts[name]) for name, look in STYLES.items() if name in parts]
            lines(axis, cases, "virtual_seconds", "accuracy")
            axis.set(xlim=(0, ends[condition]), xlabel="virtual seconds", ylabel=f"{models} (%)")
            names.append(condition)
        for axis in list(axes.flat)[len(conditions) :]:
            axis.set_axis_off()
            names.append("")
    plots.titles(grid.flat, *names)
    for axis in grid[:, 1:].flat:
        axis.set_ylabel("")
    plots.legend(figure, *grid.flat)
    return figure


def show(numbers: Tables) -> pd.DataFrame:
    """The table as it is printed: a row for each condition and case."""
    found = {models: rows for models, rows in numbers[BEST].groupby("models", sort=False)}
    first = next(iter(found.values()))
    columns = {"Condition": first["condition"], "Seconds": first["seconds"].map("{:.0f}".format)}
    columns["Case"] = first["case"]
    for models, rows in found.items():  # in the same order
        name = models.capitalize()
        columns[name] = with_interval(rows, "accuracy", 2)
        columns |= best_values(rows, f"{name}: best {{}}")
    return pd.DataFrame(columns)
