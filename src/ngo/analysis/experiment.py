"""What the picture of any experiment shows: which is better, where, by how much, at what cost.

All of it is read from the tidy table of the runs. A *panel* has the runs of one setting: the same
data, partition, workers, attack and clock. In it, a *line* is a way to learn: method, topology,
coupling. Rates with three values or more in a line are tuned: a line is judged at its best ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from ngo.analysis.cases import cases, telling_fields, worded
from ngo.analysis.seed_means import along, points, scores
from ngo.common.lazy import pd
from ngo.training.spec import FIELDS
from verdicts import final
from verdicts.scores import at_best

#: The fields of a setting. A field that is owned by one of them belongs to it, too.
SETTING = (
    *("dataset", "model", "task", "partition", "workers", "participants", "objective", "holdout"),
    *("augmentation", "attack", "clock", "speed", "links", "churn", "precision", "backend"),
    *(
        "batch_size",
        "short_share",
        "eval_images",
        "eval_workers",
        *(LENGTH := ("epochs", "eval_every")),
    ),
)

#: The owners of rates, and what of these is asked about, not tuned. Whole numbers are no rates.
OF_RATES = {"method", "coupling", "local_rule"}
ASKED = ("v_threshold", "link_failure", "absence", "exchange_probability")

#: The least values of an axis, and the most lines that a second rate makes of one.
VALUES, SPLIT = 3, 6

#: What curves are drawn along: virtual time, or the first in which ends are a tenth apart.
TIMES, APART = ("bytes_sent", "step"), 1.1


@dataclass(frozen=True)
class Plan:
    """What is drawn: tables of ``seed_means.points`` by panel and line, where and side.

    Rows of the picture compare the sides at a place: the lines of a panel. If the axis is a number
    that is asked about, such as a delay, they compare lines at each of its values; or these values,
    if there is but one line.
    """

    #: ``accuracy`` or ``loss``, of the consensus model.
    score: str
    #: The numeric field that is an axis; None without one.
    x: str | None
    #: The rates that are chosen, by the column ``by``.
    tuned: list[str]
    by: str
    #: The ends of all cases. ``chosen`` has the best rates of its side, ``front`` those of its x;
    #: ``edge``: a rate is at an end of those that its side has tried.
    ends: pd.DataFrame
    #: Each side's difference, or ratio of losses, to the first at its place, paired by seed.
    differences: pd.DataFrame
    #: The chosen cases along the column ``time``; empty below three evaluations after the start.
    course: pd.DataFrame
    time: str


def plan(metrics: pd.DataFrame) -> Plan:
    """The plan for the tidy table of an experiment.

    Raises a UserError for two runs of a seed that differ in no field.
    """
    score = "loss" if metrics["consensus_accuracy"].isna().all() else "accuracy"
    workers = metrics[f"workers_{score}_mean"] * (1 if score == "loss" else 100)
    x, tuned, panel, line = parts(metrics)
    runs = scores(metrics).assign(workers=workers, panel=cases(metrics, panel))
    runs["line"] = cases(metrics, line).replace("", None).fillna(runs["method"].map(worded))
    asked = [x] if x and x not in tuned else []
    alone = runs["line"].nunique() == 1
    runs["where"] = cases(metrics, [*panel, *asked * (not alone)])
    runs["side"] = cases(metrics, [*line, *asked * alone]).replace("", None).fillna(runs["line"])

    lost = runs["run"].isin(runs.loc[runs["diverged"], "run"])
    by, best = f"consensus_{score}", "min" if score == "loss" else "max"
    if (
        score == "accuracy"
        and "holdout_accuracy" in runs
        and runs["holdout_accuracy"][~lost].notna().all()
    ):
        by = "holdout_accuracy"
    apart, others = ["panel", "line", *([x] if x else [])], [name for name in tuned if name != x]
    chosen = at_best(runs, tuned, ["where", "side"], by, by, best).index
    front = at_best(runs, others, apart, by, by, best).index
    runs = runs.assign(chosen=runs.index.isin(chosen), front=runs.index.isin(front))

    last, known = final(runs), ["panel", "line", "where", "side", *tuned, *asked]
    costs = [name for name in ("bytes_sent", "virtual_seconds") if name in runs]
    ends = points(last, [*known, "chosen", "front"], [score, "V", "workers", *costs])
    ends["edge"] = False
    if x in tuned:
        tried = ends.groupby(["where", "side"])[x]
        low, high = tried.transform("min"), tried.transform("max")
        ends["edge"] = (low < high) & ((ends[x] == low) | (ends[x] == high))
    last, kept = last[last["chosen"]], runs[runs["chosen"] & (runs["step"] > 0)]
    time = _time(last[~last["diverged"]])
    long = kept.groupby("run").size().max() >= VALUES
    course = along(kept, ["where", "side"], time, [score, "V"]) if long else ends[:0]
    return Plan(score, x, tuned, by, ends, _differences(last, score), course, time)


def parts(metrics: pd.DataFrame) -> tuple[str | None, list[str], list[str], list[str]]:
    """The axis, and the fields that are tuned, that make panels, and that make lines."""
    fields = telling_fields(metrics)
    numbers = [name for name in fields if FIELDS[name].kind in (int, float)]
    words = cases(metrics, [name for name in fields if name not in numbers])
    counts = {name: metrics[name].groupby(words).nunique().max() for name in numbers}
    many = [name for name in numbers if counts[name] >= VALUES]
    rates = [name for name in many if _is_rate(name)]
    x = max(rates or many, key=lambda name: (counts[name], name == "lr"), default=None)
    left = [name for name in fields if name not in (*rates, x)]
    line = [name for name in left if not _of_setting(name)]
    panel = [name for name in left if name not in line and metrics[name].nunique() > 1]
    panel.sort(key=LENGTH.__contains__)
    second = [name for name in rates if name != x and counts[name] <= SPLIT]
    if second and cases(metrics, line).nunique() == 1:
        rates.remove(second[0])
        line = second[:1]
    return x, rates, panel, line


def _is_rate(name: str) -> bool:
    field = FIELDS[name]
    return field.kind is float and {*field.owners} <= OF_RATES and name not in (*ASKED, *SETTING)


def _of_setting(name: str) -> bool:
    return name in SETTING or any(map(_of_setting, FIELDS[name].owners))


def _time(last: pd.DataFrame) -> str:
    """Virtual time; or what lines have more or less of at their ends; or epochs."""
    if "virtual_seconds" in last and last["virtual_seconds"].notna().all():
        return "virtual_seconds"
    for name in TIMES:
        totals = last.groupby(["where", "side"])[name].mean()
        if 0 < APART * totals.min() < totals.max():
            return name
    return "epoch"


def _differences(last: pd.DataFrame, score: str) -> pd.DataFrame:
    """Each side and the first at its place, paired by seed: ``points`` of differences or ratios."""
    first = last.drop_duplicates("where")[["where", "side"]].merge(last)
    pairs = last.merge(first, on=["where", "seed"], suffixes=("", "_first"))
    pairs = pairs[pairs["side"] != pairs["side_first"]]
    value, reference = "ratio" if score == "loss" else "difference", pairs[f"{score}_first"]
    pairs = pairs.assign(
        difference=pairs[score] - reference,
        ratio=pairs[score] / reference,
        diverged=pairs["diverged"] | pairs["diverged_first"],
    )
    empty = last[:0].assign(value=value, mean=0.0)
    return points(pairs, ["where", "side"], [value]) if len(pairs) else empty
