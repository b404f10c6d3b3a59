"""What the picture of any experiment shows: which is better, where, by how much, at what cost.

All of it is read from the tidy table of the runs. A *panel* has the runs of one setting: the same
data, partition, workers, attack and clock. In it, a *line* is a way to learn: method, topology,
coupling, delay. Rates with three values or more in a line are tuned: it is judged at its best ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from ngo.analysis.cases import cases, telling_fields, worded
from ngo.analysis.seed_means import along, points, scores
from ngo.common.lazy import pd
from ngo.training.spec import FIELDS
from verdicts import final
from verdicts.scores import at_best
from verdicts.table import need

#: The fields of a setting. A field that is owned by one of them belongs to it, too.
LENGTH = ("epochs", "eval_every")
DATA = ("dataset", "model", "task", "partition")
SETTING = (
    *(*DATA, "workers", "participants", "objective", "holdout"),
    *("augmentation", "attack", "clock", "speed", "links", "churn", "precision", "backend"),
    *("batch_size", "short_share", "eval_images", "eval_workers", *LENGTH),
)

#: The owners of rates, and what of these is asked about, not tuned. Whole numbers are no rates.
OF_RATES = {"method", "coupling", "local_rule"}
ASKED = ("v_threshold", "link_failure", "absence", "exchange_probability")

#: The least values of a tuned rate, and the most lines that a second rate makes of one.
VALUES, SPLIT = 3, 6

#: What lines spend, if it was measured.
COSTS = ("bytes_sent", "virtual_seconds")

#: What curves are drawn along: virtual time, or the first in which lines end a tenth apart.
TIMES, APART = ("bytes_sent", "step"), 1.1

#: Columns that a table needs.
NEEDED = ("run", "seed", "step", "method", "diverged", "V")

#: The columns that name a row of the picture.
ROW = ["panel", "line"]


@dataclass(frozen=True)
class Plan:
    """What is drawn: tables of ``seed_means.points`` by panel and line."""

    #: ``accuracy`` or ``loss``, of the consensus model.
    score: str
    #: The rate that is an axis, and all that are chosen, by the mean of the column ``by``.
    x: str | None
    tuned: list[str]
    by: str
    #: The ends of all cases. ``chosen`` has the best rates of its line, ``front`` those of its x;
    #: ``edge``: its x is an end of what its line has tried.
    ends: pd.DataFrame
    #: Each line's difference, or ratio of losses, to the first of its panel, paired by seed.
    differences: pd.DataFrame
    #: The chosen cases along the column ``time``; empty below three evaluations after the start.
    course: pd.DataFrame
    time: str


def plan(metrics: pd.DataFrame) -> Plan:
    """The plan for the tidy table of an experiment.

    Raises a UserError for an absent column, and for two runs of a seed that differ in no field.
    """
    need(metrics, [*NEEDED, "consensus_accuracy"], "plot: ")
    metrics = metrics.reset_index(drop=True)  # tables that were concatenated repeat an index
    score = "loss" if metrics["consensus_accuracy"].isna().all() else "accuracy"
    x, tuned, panel, line = parts(metrics)
    names = cases(metrics, line)
    alone = metrics["method"].map(worded)
    runs = scores(metrics).assign(panel=cases(metrics, panel), line=names.where(names != "", alone))
    more = [name for name in COSTS if name in runs]
    if (own := f"workers_{score}_mean") in metrics:
        more = ["workers", *more]
        runs["workers"] = metrics[own] * (100 if score == "accuracy" else 1)
    left = runs[~runs["diverged"].groupby(runs["run"]).transform("any")]
    held = "holdout_accuracy" in left and left["holdout_accuracy"].notna().all()
    by = "holdout_accuracy" if held and score == "accuracy" else f"consensus_{score}"
    best = "min" if score == "loss" else "max"
    others, along_x = [name for name in tuned if name != x], [*ROW, *filter(None, [x])]
    runs["chosen"] = runs.index.isin(at_best(runs, tuned, ROW, by, by, best).index)
    runs["front"] = runs.index.isin(at_best(runs, others, along_x, by, by, best).index)

    last = final(runs)
    ends = points(last, [*ROW, *tuned, "chosen", "front"], [score, "V", *more]).assign(edge=False)
    if x is not None:
        low, high = (ends.groupby(ROW)[x].transform(end) for end in ("min", "max"))
        ends["edge"] = (low < high) & ((ends[x] == low) | (ends[x] == high))
    last, kept = last[last["chosen"]], runs[runs["chosen"] & (runs["step"] > 0)]
    time, long = _time(last[~last["diverged"]]), kept.groupby("run").size().max() >= VALUES
    course = along(kept, ROW, time, [score, "V"]) if long else ends[:0]
    return Plan(score, x, tuned, by, ends, _differences(last, score), course, time)


def parts(metrics: pd.DataFrame) -> tuple[str | None, list[str], list[str], list[str]]:
    """The axis, and the fields that are tuned, that make panels, and that make lines."""
    fields = telling_fields(metrics)
    rates = [name for name in fields if _is_rate(name)]
    words = cases(metrics, [name for name in fields if name not in rates])
    counts = {name: metrics[name].groupby(words).nunique().max() for name in rates}
    tuned = [name for name in rates if counts[name] >= VALUES]
    x = max(tuned, key=lambda name: (counts[name], name == "lr"), default=None)
    left = [name for name in fields if name not in tuned]
    line = [name for name in left if not _of_setting(name)]
    panel = [name for name in left if name not in line and metrics[name].nunique() > 1]
    settings = cases(metrics, panel)
    fixed = {name for name in rates if metrics[name].groupby(settings).nunique().max() < 2}
    line = [name for name in line if name not in fixed]  # by the setting
    if not {*panel} & {*DATA} and cases(metrics, line).groupby(settings).nunique().max() == 1:
        panel, line = [], [*panel, *line]  # rows of one panel
    second = [name for name in tuned if name != x and counts[name] <= SPLIT]
    if second and cases(metrics, line).nunique() == 1:
        tuned.remove(second[0])
        line = second[:1]
    return x, tuned, sorted(panel, key=LENGTH.__contains__), line


def _is_rate(name: str) -> bool:
    owned = {*FIELDS[name].owners} <= OF_RATES
    return FIELDS[name].kind is float and owned and name not in (*ASKED, *SETTING)


def _of_setting(name: str) -> bool:
    return name in SETTING or any(map(_of_setting, FIELDS[name].owners))


def _time(last: pd.DataFrame) -> str:
    """Virtual time; or what lines have more or less of at their ends; or epochs."""
    if "virtual_seconds" in last and last["virtual_seconds"].notna().all():
        return "virtual_seconds"
    totals = last.groupby(ROW)[[name for name in TIMES if name in last]].mean()
    apart = (totals.min() > 0) & (APART * totals.min() < totals.max())
    return next((name for name in totals if apart[name]), "epoch")


def _differences(last: pd.DataFrame, score: str) -> pd.DataFrame:
    """Each line and the first of its panel, paired by seed: differences, or ratios of losses."""
    first = last.drop_duplicates("panel")[ROW].merge(last)
    pairs = last.merge(first, on=["panel", "seed"], suffixes=("", "_first"))
    pairs = pairs[pairs["line"] != pairs["line_first"]]
    pairs["diverged"] |= pairs["diverged_first"]
    ours, reference = pairs[score], pairs[f"{score}_first"]
    value = "ratio" if score == "loss" else "difference"
    pairs[value] = ours / reference if score == "loss" else ours - reference
    return points(pairs, ROW, [value]) if len(pairs) else last[:0].assign(value=value, mean=0.0)
