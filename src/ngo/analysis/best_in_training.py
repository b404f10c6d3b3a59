"""Each method with each way to mix, at its own best p, γ and learning rate."""

from __future__ import annotations

from collections.abc import Sequence

from ngo.analysis.best_in_rounds import LINEAR, mixers
from ngo.analysis.seed_means import check_apart, over_seeds
from ngo.common.lazy import pd
from verdicts import final
from verdicts.scores import at_best

SITUATION = ["dataset", "partition", "topology", "algorithm"]
CELL = [*SITUATION, "mixer"]
TUNED = ["p", "gamma", "lr"]

#: Methods that add nothing to the local rule.
PLAIN = ("dsgd", "gossip", "ngo")


def with_parts(metrics: pd.DataFrame) -> pd.DataFrame:
    """The metrics with the columns ``algorithm`` and ``mixer``.

    The algorithm is the method's correction with the local rule, such as ``d2`` or ``d2 +
    momentum``; of gossip and NGO, which have none, the local rule. The mixer is ``linear``, ``NGO``
    (both coupling power), or the coupling; NaN without a topology.
    """
    plain = metrics["method"].isin(PLAIN)
    rule, method = metrics["local_rule"], metrics["method"]
    both = method.where(rule == "sgd", method + " + " + rule)
    return metrics.assign(algorithm=both.mask(plain, rule), mixer=mixers(metrics))


def combination_table(metrics: pd.DataFrame, further: Sequence[str] = ()) -> pd.DataFrame:
    """One row for each data set, partition, topology, algorithm and mixer (``CELL``), sorted so.

    ``further`` columns distinguish situations too, and come first. Linear gossip is the
    first mixer. Each cell is at its own best ``TUNED``, by held-out accuracy
    (``verdicts.scores.at_best``).

    Columns: these; test accuracy in percent, of the mean model, over seeds, with its 95 %
    half-width (``accuracy``, ``accuracy_ci95``); ``TUNED``, and the values that were tried, such
    as ``0.3, 1`` (``gamma_tried``); the difference to linear gossip in the same
    situation (``gain``, ``gain_ci95``), paired by seed; bytes sent by a run; the runs
    that diverged.
    """
    situation, cell = [*further, *SITUATION], [*further, *CELL]
    runs = with_parts(metrics)
    rows = final(at_best(runs, TUNED, cell))
    check_apart(rows, cell)
    rows = rows.assign(accuracy=100 * rows["consensus_accuracy"])
    linear = rows.loc[rows["mixer"] == LINEAR, [*situation, "seed", "accuracy"]]
    rows = rows.merge(linear, on=[*situation, "seed"], how="left", suffixes=("", "_linear"))
    rows["gain"] = rows["accuracy"] - rows["accuracy_linear"]
    counts = {"bytes_sent": ("bytes_sent", "mean"), "seeds": ("seed", "nunique")}
    table = best_and_tried(rows, runs, cell, **counts)
    for value in ("accuracy", "gain"):
        table = table.merge(over_seeds(rows, cell, value), on=cell)
    table.loc[table["mixer"] == LINEAR, ["gain", "gain_ci95"]] = float("nan")
    order = table.assign(first=table["mixer"] != LINEAR).sort_values([*situation, "first", "mixer"])
    return order.drop(columns="first")


def best_and_tried(
    best: pd.DataFrame, tried: pd.DataFrame, cell: list[str], **further: tuple[str, str]
) -> pd.DataFrame:
    """A row for each group ``cell`` of runs: their ``TUNED``, and those of ``tried`` as text.

    Further columns: ``further``, arguments of pandas' ``agg``, and the number of diverged runs.
    """
    values = {name: (name, "first") for name in TUNED}
    groups = best.groupby(cell, dropna=False, sort=False)
    table = groups.agg(**values, **further, diverged=("diverged", "sum")).reset_index()
    texts = tried.groupby(cell, dropna=False)[TUNED].agg(listed).add_suffix("_tried")
    return table.merge(texts.reset_index(), on=cell)


def listed(values: pd.Series) -> str:
    """The distinct values in order: ``0.3, 1``."""
    return ", ".join(f"{value:g}" for value in sorted(values.dropna().unique()))


def known(run: pd.Series, name: str, neutral: object) -> bool:
    """Whether a run has a value of the field, other than the neutral one."""
    return name in run and pd.notna(run[name]) and run[name] != neutral


def best_of_cases(metrics: pd.DataFrame) -> pd.DataFrame:
    """The rows of each ``case`` at its best ``TUNED`` on its data.

    A case is named by its parts: ``NGO, ring``; ``local_sgd linear, H = 5, ring``.
    """
    runs = with_parts(metrics.drop_duplicates("run").set_index("run"))
    named = metrics.assign(case=metrics["run"].map(runs.apply(_case_name, axis=1)))
    return at_best(named, TUNED, ["dataset", "partition", "case"]).reset_index(drop=True)


def _case_name(run: pd.Series) -> str:
    method = "" if run["algorithm"] == run["local_rule"] == "sgd" else run["algorithm"]
    parts = [f"{method} {run['mixer']}" if known(run, "mixer", None) else method]
    if known(run, "local_steps", 1):
        parts.append(f"H = {run['local_steps']:g}")
    if known(run, "delay", 0):
        parts.append(f"τ = {run['delay']:g}")
    if known(run, "compression", "none"):
        share = f" {run['kept_share']:g}" if known(run, "kept_share", None) else ""
        parts.append(run["compression"] + share)
    if known(run, "topology", None):
        parts.append(run["topology"].replace("_", " "))
    return ", ".join(part.strip() for part in parts)
