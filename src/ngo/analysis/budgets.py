"""Runs after equal budgets of bytes, steps or seconds, and when they reach a target."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ngo.analysis.seed_means import check_apart, interval
from ngo.common.lazy import Numbers, Table, pd
from verdicts import final
from verdicts.statistics import exceeds

#: Runs that agree on these are compared after the same number of bytes.
SAME = ["dataset", "partition", "seed"]


def at_equal(
    metrics: Table, cost: str, values: list[str], same: list[str], share: float = 1.0
) -> Table:
    """The last evaluation of every run, with ``values`` as they were when ``cost`` was ``budget``.

    The column ``budget`` is ``share`` of the least ``cost`` that a run with the same fields
    ``same`` had at its end. Values between two evaluations are linear in the cost; those of a
    diverged run are NaN, and its cost sets no budget.
    """
    last = final(metrics)
    ends = last[cost].where(~last["diverged"]).astype(float)
    budget = share * ends.groupby([last[name] for name in same]).transform("min")
    return at_budgets(metrics, last.assign(budget=budget), cost, values)


def shared_steps(metrics: Table) -> int:
    """The number of steps that all runs took; the greatest of any if all diverged."""
    last = final(metrics)
    whole = last.loc[~last["diverged"], "step"]
    return int(whole.min() if len(whole) else last["step"].max())


def at_budgets(metrics: Table, last: Table, x: str, values: list[str]) -> Table:
    """The ends ``last`` of runs, with ``values`` where the column ``x`` was ``budget``.

    Linear in ``x`` between evaluations. NaN for a run that diverged, or ended before its budget.
    """
    runs = dict(list(metrics.sort_values("step").groupby("run")))
    ends = []
    for run, budget in zip(last["run"], last["budget"], strict=True):
        rows = runs[run].drop_duplicates(x, keep="last")
        place = rows[x].to_numpy(dtype=float)
        reached = not rows["diverged"].any() and place[-1] >= budget
        lines = (rows[value].to_numpy(dtype=float) for value in values)
        ends.append([np.interp(budget, place, y) if reached else np.nan for y in lines])
    columns = np.reshape(ends, (-1, len(values))).T
    return last.assign(**dict(zip(values, columns, strict=True)))


def crossing(x: np.ndarray, y: np.ndarray, target: float) -> float:
    """The first ``x`` at which ``y``, linear between points, reaches ``target`` from below.

    A point that is off the target by rounding alone is at it. inf if ``y`` never reaches it; a NaN
    in ``y`` reaches nothing.
    """
    reached = np.flatnonzero(~(exceeds(-y, -target) | np.isnan(y)))
    if not len(reached):
        return np.inf
    k = reached[0]
    if k == 0 or not np.isfinite(y[k - 1]):
        return float(x[k])
    share = min(1.0, (target - y[k - 1]) / (y[k] - y[k - 1]))
    return float(x[k - 1] + share * (x[k] - x[k - 1]))


def time_to(metrics: Table, target: float, column: str, clock: str = "epoch") -> Numbers:
    """When ``column`` of each run first reaches ``target``, in epochs or steps (``clock``).

    A loss reaches the target from above, all else from below. Linear between points.
    Indexed by run; inf for a run that never reaches it, and for a diverged run.
    """
    sign = -1.0 if "loss" in column else 1.0
    times = {}
    for run, rows in metrics.sort_values("step", kind="stable").groupby("run", sort=False):
        y = sign * rows[column].to_numpy(float)
        lost = rows["diverged"].any()
        times[run] = np.inf if lost else crossing(rows[clock].to_numpy(float), y, sign * target)
    return pd.Series(times, dtype=float)


# Speed-ups: a target is reached in fewer steps with more workers.

SIZES = ["method", "workers"]

#: What follows the name of a column that has a mean, or an end of its interval.
ENDS = {"mean": "", "low": "_low", "high": "_high"}


def steps_to_targets(metrics: Table, targets: Mapping[str, float]) -> Table:
    """The steps after which each run reaches each of ``targets``, accuracies in percent by name.

    A row for each run and target. Columns: target, accuracy, method, workers, seed; ``steps``,
    inf for a run that never gets there; ``speedup``, the steps with the fewest workers, of the same
    method and seed, divided by ``steps``: 0 if these are inf, NaN if the fewest workers never get
    there. A centralized run counts for every method, as the run of one worker.
    """
    last = final(metrics)
    check_apart(last, SIZES)
    alone = last["method"] == "centralized"
    methods = last.loc[~alone, "method"].unique()
    last = pd.concat([last[~alone], *(last[alone].assign(method=name) for name in methods)])
    tables = []
    for name, accuracy in targets.items():
        steps = last["run"].map(time_to(metrics, accuracy / 100, "consensus_accuracy", "step"))
        fewest = steps.where(last["workers"] == last["workers"].min())
        base = fewest.groupby([last["method"], last["seed"]]).transform("max")
        measured = {"steps": steps, "speedup": (base / steps).where(np.isfinite(base))}
        known = {"target": name, "accuracy": accuracy, "base": base.notna()}
        tables.append(last[[*SIZES, "seed"]].assign(**known, **measured))
    whole = pd.concat(tables, ignore_index=True)
    return whole.sort_values(["target", *SIZES, "seed"], kind="stable", ignore_index=True)


def speedup_means(table: Table) -> Table:
    """Geometric means over seeds of ``steps_to_targets``, with 95 % intervals.

    Columns: target, accuracy, method, workers; ``steps`` and ``speedup``, each with ``_low`` and
    ``_high``; seeds; ``reached``, how many of them reach the target. NaN unless all do.
    """
    records = []
    by = ["target", "accuracy", *SIZES]
    for keys, rows in table.groupby(by, sort=False):
        record = dict(zip(by, keys, strict=True))
        for name, part in (("steps", rows), ("speedup", rows[rows["base"]])):
            values = part[name].to_numpy(float)
            usable = np.isfinite(values).all() and (values > 0).all()
            ends = interval(values if usable else values[:0], name)
            record |= {name + end: ends[of] for of, end in ENDS.items()}
        reached = int(np.isfinite(rows["steps"]).sum())
        records.append({**record, "seeds": len(rows), "reached": reached})
    return pd.DataFrame(records)
