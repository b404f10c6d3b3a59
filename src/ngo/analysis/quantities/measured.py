"""Quantities of measured tables: partitions, spectra, trajectories, runs against V, kept models,
and rounds without learning; and a number for gates.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ngo.analysis import consensus
from ngo.analysis.best_in_rounds import SITUATION, Mixer, best_rows, ends, with_mixers
from ngo.analysis.quantities.theorems import FACTOR
from ngo.common.lazy import Numbers, Table, pd
from verdicts import final
from verdicts.quantities import cases, quantity, slope_of
from verdicts.registry import UserError, one_of
from verdicts.run_values import Value, per_run
from verdicts.scores import Scores, Side, mean_over, noted
from verdicts.statistics import ROUNDING
from verdicts.table import Column, need

# Counts of samples and classes of the workers (Figures S2 and A2).


@quantity("samples_of_workers", example="{samples: 400}", cases=True)
def samples_of_workers(rows: Table, samples: int) -> Table:
    """One case for each worker: it has ``samples`` samples."""
    workers = _counts(rows)
    met = workers["samples"] == samples
    return cases(workers, ("dataset", "worker"), workers["samples"], samples, met)


@quantity("classes_of_workers", example="{most: 4}", cases=True)
def classes_of_workers(rows: Table, most: int) -> Table:
    """One case for each worker: it has samples of at most ``most`` classes."""
    workers = _counts(rows)
    return cases(workers, ("dataset", "worker"), workers["classes"], most)


@quantity("samples_used", example="{samples: 60000}", cases=True)
def samples_used(rows: Table, samples: int) -> Table:
    """One case for each data set: its workers together have all of its ``samples`` samples."""
    sums = rows.groupby("dataset")["samples"].sum().reset_index()
    return cases(sums, ("dataset",), sums["samples"], samples, sums["samples"] == samples)


@quantity("batches_of_steps", cases=True)
def batches_of_steps(rows: Table) -> Table:
    """One case for each number of workers: a step takes as many batches as there are workers."""
    ends = final(rows)
    batches = ends["samples"] / ends["step"] / ends["batch_size"]
    most = batches.groupby(ends["workers"]).max().reset_index(name="batches")
    met = most["batches"] == most["workers"]
    return cases(most, ("workers",), most["batches"], most["workers"], met)


def _counts(rows: Table) -> Table:
    """Samples and classes by data set and worker."""
    owned = rows.assign(classes=(rows["samples"] > 0).astype(int))
    return owned.groupby(["dataset", "worker"])[["samples", "classes"]].sum().reset_index()


# Degrees and spectral gaps against the printed ones (Table S1).

REFERENCE = "config/reference/tableS1_spectral_gap.csv"

CASE = ("topology", "n")


@quantity("printed_gaps", cases=True)
def printed_gaps(rows: Table, reference: str = REFERENCE) -> Table:
    """One case for each printed gap: ours, rounded as the paper rounded, is what it printed."""
    if rows.merge(pd.read_csv(reference)[list(CASE)]).empty:
        raise UserError(f"workers: {reference} has none of these graphs.")
    table = consensus.spectral_comparison(rows, reference)
    table = table[table["paper"].notna()]
    return cases(table, CASE, table["spectral_gap"], table["paper"], table["agrees"] == "yes")


@quantity("smallest_gap", example="{topology: ring}", cases=True)
def smallest_gap(rows: Table, topology: str = "ring") -> Table:
    """One case for each n: the gap of ``topology`` against the smallest of the other topologies."""
    wide = rows.pivot(index="n", columns="topology", values="spectral_gap")
    one_of("topology", topology, wide)
    others = wide.drop(columns=topology).min(axis=1)
    table = wide.reset_index().assign(topology=topology)
    return cases(table, CASE, wide[topology], others, wide[topology] < others)


@quantity("random_degrees", example="{form: un}", cases=True)
def random_degrees(rows: Table, form: str = "un") -> Table:
    """One case for each random graph: its mean degree is un or u(n − 1) (``is_degree``)."""
    one_of("form", form, ("un", "u(n-1)"))
    table = rows[rows["topology"] == "random"].assign(form=form)
    expected = consensus.DEGREES[form](table["n"], table["u"])
    return cases(table, CASE, table["degree"], expected, consensus.is_degree(table, table["form"]))


@quantity("messages_of_a_worker", example="{printed: 18.9}", cases=True)
def messages_of_a_worker(rows: Table, printed: float) -> Table:
    """One case for each graph: the messages of a worker in round 1, on average, to one digit."""
    first = rows[rows["round"] == 1].drop_duplicates(["topology", "workers"])
    measured = first["messages"] / first["workers"]
    return cases(first, ("topology", "workers"), measured, printed, measured.round(1) == printed)


# Trajectories of consensus (Figures 3 and S1).


@quantity("consensus_delay_floor", example="{share: 0.01}", cases=True)
def consensus_delay_floor(table: Table, share: float) -> Table:
    """Delays up to the limit do no harm (Figure S1): V ends within a factor 2 of V without delay.

    V below ``share`` · V(0) without delay counts as ``share``.
    """
    rows = _ends(table)
    undelayed = rows[rows["delay"] == 0].set_index("p")["end"]
    rows = rows[(rows["delay"] > 0) & rows["allowed"]]
    floor = rows["p"].map(undelayed).clip(lower=share)
    return cases(rows, ("p", "delay"), rows["end"], FACTOR * floor)


def _ends(table: Table) -> Table:
    """For each p and delay: the largest V of the last tenth of the rounds, as a share of V(0)."""
    limit = consensus.delay_limit_in_rounds(table)
    records = []
    for (p, delay), rows in table.groupby(["p", "delay"]):
        V = rows.drop_duplicates("round").sort_values("round")["V"].to_numpy()
        end = V[-max(1, len(V) // 10) :].max() / V[0]
        end = np.inf if np.isnan(end) else end
        records.append({"p": p, "delay": delay, "end": end, "allowed": delay <= limit})
    return pd.DataFrame(records)


# Runs of many settings: what goes with the synchronization index V.


@quantity("slope_on_V", unit="that of the value, for a factor e of V", example="{value: accuracy}")
def slope_on_V(rows: Table, value: Value = "accuracy", log: bool = False, V: Value = "V") -> Scores:
    """The least-squares slope of the value on log V over the runs of a seed.

    V is that at the ends of runs, or another value, such as ``{mean: V}``. Diverged runs and runs
    with V = 0 have no log V: they are left out, and the verdict says how many. NaN for a seed with
    fewer than three other runs.
    """
    return _on_log_V(rows, value, V, log, 3, slope_of)


@quantity("fisher_z", unit="Fisher's z", example="{of: accuracy}")
def fisher_z(
    rows: Table, of: Value = "accuracy", log: bool = False, minus: float = 0.0, V: Value = "V"
) -> Scores:
    """Fisher's z of Pearson's correlation of log V with a value, over the runs of a seed.

    V is the synchronization index at the ends of runs, or another value: with ``{mean: V}``, its
    mean over training. Diverged runs and runs with V = 0 have no log V: they are left out, and the
    verdict says how many. NaN for a seed with fewer than four other runs, or whose runs are alike.
    ``minus`` is subtracted: z of the correlation to compare with.
    """

    def z(x: np.ndarray, y: np.ndarray) -> float:
        r = np.corrcoef(x, y)[0, 1] if x.std() and y.std() else np.nan
        return float(np.arctanh(np.clip(r, -1 + ROUNDING, 1 - ROUNDING)) - minus)

    return _on_log_V(rows, of, V, log, 4, z)  # z of three points has no variance


def _on_log_V(
    rows: Table, value: Value, V: Value, log: bool, least: int, number: Callable[..., float]
) -> Scores:
    """``number(log V, value)`` of the runs of each seed; NaN for fewer than ``least`` runs.

    With ``log``, of the logarithm of the value: runs without one are left out, too.
    """
    runs = per_run(rows, value)
    runs["log_V"] = np.log(per_run(rows, V)["value"].where(lambda values: values > 0))
    kept = np.isfinite(runs["log_V"]) & np.isfinite(runs["value"])
    kept &= (runs["value"] > 0) | (not log)
    numbers = {}
    for seed, group in runs.groupby("seed"):
        x, y = group.loc[kept[group.index], ["log_V", "value"]].to_numpy(float).T
        numbers[seed] = number(x, np.log(y) if log else y) if len(x) >= least else np.nan
    series = pd.Series(numbers, dtype=float).rename_axis("seed")
    return Scores(series, [Side("", series.to_frame(), noted(runs, ~kept))])


# Kept models: alignment of their gradients, likeness of their images.


@quantity("alignment_slope", unit="cosine per factor 10 of V", example="{column: cosine}")
def alignment_slope(rows: Table, column: Column = "cosine") -> Numbers:
    """The slope of the workers' mean cosine on log10 V over the scales, by seed (Figure 2).

    The cosine of a worker's gradient and the gradient at the mean; its change per factor of ten in
    V. NaN for a seed whose run diverged.
    """

    def slope(table: Table) -> float:
        moved = table[table["V"] > 0]
        return slope_of(np.log10(moved["V"].to_numpy()), moved[column].to_numpy())

    return _by_scales(rows, column, slope)


@quantity("change_with_scale", unit="share of 1", example="{column: accuracy, minus: 0, of: 1}")
def change_with_scale(rows: Table, column: Column, of: float, minus: float) -> Numbers:
    """The workers' mean of a column at one scale of their distances − that at another, by seed."""

    def change(table: Table) -> float:
        values = table.set_index("scale")[column]
        for scale in (of, minus):
            if scale not in values.index:
                allowed = ", ".join(f"{scale:g}" for scale in values.index)
                raise UserError(f"scale: {scale!r} was not measured; allowed: {allowed}.")
        return values[of] - values[minus]

    return _by_scales(rows, column, change)


def _by_scales(rows: Table, column: Column, number: Callable[[Table], float]) -> Numbers:
    """By seed: the number of V and the mean of a column over workers, by scale."""
    if column not in rows:
        raise UserError(f"column: {column!r} was not measured; measure it at each scale.")
    workers = rows[rows["worker"] >= 0]
    workers = workers.assign(**{column: workers[column].mask(workers["diverged"], np.nan)})
    shown = {"V": ("V", "first"), column: (column, lambda values: np.mean(values.to_numpy()))}
    by_seed = workers.groupby("seed")
    numbers = {seed: number(of.groupby("scale").agg(**shown).reset_index()) for seed, of in by_seed}
    return pd.Series(numbers, dtype=float).rename_axis("seed")


@quantity("log_image_variance_ratio", unit="log ratio", example="{of: 200, to: 2}")
def log_image_variance_ratio(rows: Table, of: int, to: int, share: bool = False) -> Numbers:
    """Log of the variance between workers' generated images at step ``of`` over that ``to``.

    By seed. All workers decode the same codes; the variance of a pixel over workers is averaged
    over pixels (Figure A1). With ``share``, it is divided by the variance over workers and codes:
    grey noise has little variance of any kind. inf for a run that diverged by step ``of``.
    """
    images = rows[(rows["kind"] == "generation") & (rows["worker"] >= 0)]
    ratios = {}
    for seed, run in images.groupby("seed"):
        spreads = []
        for step in (of, to):
            shown = run[run["step"] == step]
            if shown.empty:
                steps = ", ".join(map(str, sorted(run["step"].unique())))
                raise UserError(f"step: {step!r} has no images; allowed: {steps}.")
            pixel = ["channel", "row", "column"]
            between = shown.groupby(["image", *pixel])["value"].var(ddof=0).mean()
            whole = shown.groupby(pixel)["value"].var(ddof=0).mean() if share else 1.0
            spreads.append(between / whole)
        lost = run.loc[run["step"] == of, "diverged"].any()
        with np.errstate(divide="ignore"):
            ratios[seed] = np.inf if lost else float(np.log(spreads[0]) - np.log(spreads[1]))
    return pd.Series(ratios, dtype=float).rename_axis("seed")


# Rounds without learning: one way to mix compared with another.


@quantity("settled_ratio", unit="log ratio", example="{of: NGO, value: V_early}")
def settled_ratio(
    rows: Table, of: Mixer, minus: Mixer = "linear", value: Column = "V_settled"
) -> Numbers:
    """The log V of the mixer ``of`` − that of ``minus``, each at its own best p and γ, by seed.

    Half of the seeds choose the best, and the others are compared
    (``best_in_rounds.best_rows``). A mean over the situations (disturbance, strength, topology) in
    which both were measured. A seed in which one side diverged is ±inf, against it; one in which
    both did has no number.
    """
    chosen = ends(best_rows(with_mixers(rows), value)).set_index([*SITUATION, "seed"])
    logs = np.log(chosen[value].astype(float).fillna(np.inf))  # it diverged
    sides = [logs[chosen["mixer"] == name] for name in (of, minus)]
    for name, side in zip((of, minus), sides, strict=True):
        if side.empty:
            raise UserError(f"settled_ratio: no rows of mixer {name!r}.")
    one, other = sides[0].align(sides[1], join="inner")
    return mean_over(one.sub(other).unstack("seed").T)


# Whether runs are in the regime that a claim is about, for gates.


@quantity("log_quotient", unit="log ratio", example="{of: sync_term, to: noise_term}")
def log_quotient(rows: Table, of: Column, to: Column) -> Numbers:
    """The largest log of one column over another, by seed: two terms of a bound, for example."""
    need(rows, [of, to], "with: ")
    with np.errstate(divide="ignore"):
        return np.log(rows[of] / rows[to]).groupby(rows["seed"]).max()
