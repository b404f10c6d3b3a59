"""Test accuracy of each method in each setting, at its own best values: which is best, and which
are as good as far as these seeds show.

*The question:* what to use when? *Look at* a column for a setting: the best method is framed, and
those whose paired difference to it may be 0 have a dot. Centralized learning is a reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pandas as pd
from matplotlib.patches import Rectangle

from ngo.figures import plots
from ngo.figures.combinations import NOTE
from ngo.figures.declaration import figure
from ngo.figures.tables import number
from verdicts.quantities import best_difference, level
from verdicts.registry import UserError
from verdicts.row import ABSENT
from verdicts.rows.best_fields import at_best
from verdicts.rows.evaluations import at_equal
from verdicts.rows.selection import selected
from verdicts.statistics.evidence import Evidence, evidence
from verdicts.statistics.expectation import Expectation

SETTINGS = {
    "iid": "iid",
    "skewed": "skewed",
    "few_bytes": "few bytes",
    "slow_worker": "slow worker",
    "late": "late messages",
    "failing": "failing links",
    "liars": "liars",
    "many_workers": "many workers",
}
"""The settings by their experiments."""

AT_BYTES, AT_SECONDS = "accuracy at equal bytes", "accuracy at equal seconds"
MEASURES = {"few bytes": AT_BYTES, "slow worker": AT_SECONDS, "late messages": AT_SECONDS}
COSTS = {AT_BYTES: "bytes_sent", AT_SECONDS: "virtual_seconds"}
"""What is equal in a setting; in the others, samples are: the runs' ends are compared."""

CHOSEN = {"gamma": "γ", "p": "p", "lr": "η", "clip": "τ"}

_TOGETHER: dict[str, object] = {"clock": ["steps", "waiting"]}
_ALONE: dict[str, object] = {"clock": "asynchronous"}
_RING: dict[str, object] = {"topology": "ring", "local_rule": "sgd"}
_DSGD: dict[str, object] = {"method": "gossip", **_RING}
_NGO: dict[str, object] = {"method": "ngo", **_RING, "coupling": "power", "p": {"min": 0.55}}
_CAPPED: dict[str, object] = {"method": "ngo", **_RING, "coupling": "capped"}
_LOCAL: dict[str, object] = {"method": "local_sgd"}

DSGD, REFERENCE = "DSGD", "centralized"
NOT_RUN = SimpleNamespace(estimate=np.nan, low=np.nan, high=np.nan, pairs=0)
METHODS: Mapping[str, dict[str, object]] = {
    REFERENCE: {"method": "centralized"},
    DSGD: {**_DSGD, **_TOGETHER},
    "NGO": {**_NGO, **_TOGETHER},
    "NGO, sign": {**_NGO, "p": 0.5, **_TOGETHER},
    "capped NGO": {**_CAPPED, **_TOGETHER},
    "D²": {"method": "d2"},
    "gradient tracking": {"method": "gradient_tracking"},
    "EXTRA": {"method": "extra"},
    "DSGD with momentum": {**_DSGD, "local_rule": "momentum"},
    "quasi-global momentum": {"method": "quasi_global"},
    "momentum tracking": {"method": "momentum_tracking"},
    "RelaySGD": {"method": "relay_sum"},
    "CHOCO-SGD, top-k": {"method": "choco"},
    "local SGD": {**_LOCAL, **_TOGETHER},
    "outer optimizer": {"method": "outer"},
    "DSGD, exponential graph": {**_DSGD, "topology": "exponential"},
    "DSGD, one-peer hypercube": {**_DSGD, "topology": "one_peer_hypercube"},
    "epidemic learning": {"method": "epidemic"},
    "asynchronous gossip": {**_DSGD, **_ALONE},
    "asynchronous NGO": {**_NGO, **_ALONE},
    "asynchronous capped NGO": {**_CAPPED, **_ALONE},
    "asynchronous local SGD": {**_LOCAL, **_ALONE},
    "AD-PSGD": {"method": "ad_psgd"},
    "asynchronous push-sum": {"method": "async_push_sum"},
    "clipped gossip": {"coupling": "clipped"},
    "median": {"coupling": "median"},
    "trimmed mean": {"coupling": "trimmed_mean"},
}
"""The rows of each method. Centralized learning is no choice: it is never the best."""


@figure(
    "matrix",
    section="What to use when",
    title="Methods and settings",
    reads={
        "iid": "iid",
        "skewed": "skewed",
        "few_bytes": "few_bytes",
        "slow_worker": "slow_worker",
        "late": "late",
        "failing": "failing",
        "liars": "liars",
        "many_workers": "many_workers",
    },
    tables=("matrix",),
    stands_for="",
)
def numbers(**tables: pd.DataFrame) -> pd.DataFrame:
    """A row for each setting and method, measured or not, see ``cells``."""
    found = [cells(name, tables[each]) for each, name in SETTINGS.items()]
    return pd.concat(found, ignore_index=True)


def cells(setting: str, metrics: pd.DataFrame) -> pd.DataFrame:
    """The rows of a setting, one for each of ``METHODS``, at its best values of ``CHOSEN``.

    Columns: those of ``_facts``; ``method`` and ``measure``; ``estimate``, ``low`` and ``high``,
    accuracy in percent with its 95 % interval over ``seeds``; ``best``, whether the estimate is the
    highest of all but the reference; ``within``, whether the interval of the paired difference to
    the best includes 0; ``beats_dsgd``, whether that to DSGD is above 0, which is
    not asked of the reference; ``chosen``, the best
    values. A method that was not run has no estimate. −inf: half of the runs or more diverged.
    """
    measure = MEASURES.get(setting, "accuracy")
    runs = metrics
    if measure in COSTS:
        values = ["consensus_accuracy", "holdout_accuracy"]
        runs = at_equal(metrics, COSTS[measure], values, ["seed"])
    choose = [name for name in CHOSEN if name in runs]
    run = {}
    for name, where in METHODS.items():
        with suppress(UserError):  # it was not run
            run[name] = selected(runs, where)
    chosen = {name: at_best(rows, choose, []) for name, rows in run.items()}
    known = {name: _evidence(level(rows)) for name, rows in chosen.items()}
    choices = [name for name in known if name != REFERENCE]
    best = max(choices, key=lambda name: known[name].estimate, default=None)

    def minus(name: str, other: str) -> Evidence:
        return _evidence(best_difference(runs, METHODS[name], METHODS[other], choose))

    rows = []
    for name in METHODS:
        found = known.get(name, NOT_RUN)
        estimate = {"estimate": found.estimate, "low": found.low, "high": found.high}
        compared = {
            "best": name == best,
            "within": name == best or (name in choices and bool(minus(name, best).high >= 0)),
            "beats_dsgd": name in choices and DSGD in known and bool(minus(name, DSGD).low > 0),
            "chosen": _told(chosen[name], choose) if name in chosen else "",
        }
        facts = {**_facts(setting, runs), "method": name, "measure": measure}
        rows.append({**facts, **estimate, "seeds": found.pairs, **compared})
    return pd.DataFrame(rows)


def _evidence(values: pd.Series) -> Evidence:
    return evidence(values.to_numpy(dtype=float), Expectation("above", 0))


def _told(rows: pd.DataFrame, choose: list[str]) -> str:
    first = rows.iloc[0]
    return ", ".join(f"{CHOSEN[k]} = {first[k]:g}" for k in choose if pd.notna(first[k]))


def _facts(setting: str, runs: pd.DataFrame) -> dict[str, object]:
    """The setting in numbers.

    ``workers``; ``skew``, the Dirichlet parameter; ``bandwidth``, the bytes that a worker may send
    in a run; ``stragglers``, the share of slow workers; ``lateness``, how long messages take, in
    steps; ``failing``, the probability of a link's failure in a step; ``liars``, their number. NaN
    without skew, and without a limit of bytes.
    """

    def fact(name: str, neutral: float) -> float:
        values = runs[name].dropna() if name in runs else []
        return float(max(values)) if len(values) else neutral

    workers = fact("workers", np.nan)
    skewed = runs["partition"].astype(str).str.startswith("dirichlet").all()
    few = MEASURES.get(setting) == AT_BYTES
    lies = "attack" in runs and (runs["attack"].dropna() != "none").any()
    return {
        "setting": setting,
        "workers": int(workers),
        "skew": fact("beta", np.nan) if skewed else np.nan,
        "bandwidth": float(runs["budget"].mean()) / workers if few else np.nan,
        "stragglers": fact("slow_workers", 0) / workers,
        "lateness": fact("latency", 0) / fact("step_seconds", 1),
        "failing": fact("link_failure", 0),
        "liars": int(fact("liars", 1)) if lies else 0,
    }


def _grid(numbers: pd.DataFrame, column: str) -> pd.DataFrame:
    """A column as methods × settings."""
    wide = numbers.pivot(index="method", columns="setting", values=column)
    return wide.reindex(index=list(METHODS), columns=list(SETTINGS.values()))


def draw(numbers: pd.DataFrame) -> plots.Figure:
    """Methods × settings: darker cells are further below the best of their column."""
    estimates, best, within = (_grid(numbers, name) for name in ("estimate", "best", "within"))
    choices = estimates.drop(index=REFERENCE)
    behind = (choices.max() - estimates).clip(lower=0).to_numpy(dtype=float)
    drawn = plots.new_figure(6.5)
    axis = drawn.subplots()
    image = axis.imshow(np.minimum(behind, 20), cmap="Blues", vmin=0, vmax=30, aspect="auto")
    drawn.colorbar(image, ax=axis, label="points below the best (20: or more)", shrink=0.6)
    image.colorbar.ax.set_ylim(0, 20)
    for (row, column), value in np.ndenumerate(estimates.to_numpy(dtype=float)):
        mark = " •" if within.iat[row, column] else ""
        axis.text(column, row, _cell(value) + mark, ha="center", va="center", size="x-small")
        if best.iat[row, column]:
            axis.add_patch(Rectangle((column - 0.48, row - 0.46), 0.96, 0.92, fill=False, lw=1.2))
    axis.axhline(0.5, color="0.3", lw=1)
    axis.set_yticks(range(len(METHODS)), list(METHODS))
    axis.set_xticks(range(len(SETTINGS)), list(SETTINGS.values()), rotation=25, ha="right")
    axis.set_title("test accuracy (%)")
    return drawn


def _cell(value: float) -> str:
    return "diverged" if value == -np.inf else number(value, 1)


def show(numbers: pd.DataFrame) -> pd.DataFrame:
    """Methods × settings as printed: the best marked ``**``, those within its interval ``*``."""
    marks = np.where(numbers["best"], " **", np.where(numbers["within"], " *", ""))
    table = _grid(numbers.assign(cell=numbers["estimate"].map(_cell) + marks), "cell")
    return table.fillna(ABSENT).reset_index().rename(columns={"method": "Method"})


def caption(numbers: pd.DataFrame, **tables: pd.DataFrame) -> str:
    """What the marks mean."""
    return (
        "Test accuracy of the mean model in percent; few bytes: after equally many bytes; slow "
        "worker and late messages: after equally many virtual seconds. **: the best of the "
        "setting, but for centralized learning, a reference; *: the 95 % interval of the paired "
        f"difference to the best includes 0, not adjusted for many comparisons; {ABSENT}: not "
        f"measured. {NOTE}"
    )


def note(numbers: pd.DataFrame, **tables: pd.DataFrame) -> list[str]:
    """What is drawn."""
    return [f"Frame: the best; •: within its interval; {ABSENT}: not measured. {NOTE}"]
