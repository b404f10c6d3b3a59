"""Numbers of kept models: alignment of their gradients, likeness of their images."""

from __future__ import annotations

from collections.abc import Callable

from ngo.common.registry import UserError
from ngo.common.types import Numbers, Table
from verdicts.quantity_registry import quantity
from verdicts.rows.selection import Column


@quantity("alignment_slope", unit="cosine per factor 10 of V", example="{column: cosine}")
def alignment_slope(rows: Table, column: Column = "cosine") -> Numbers:
    """The slope of the workers' mean cosine on log10 V over the scales, by seed (Figure 2).

    The cosine of a worker's gradient and the gradient at the mean; its change per factor of ten in
    V. NaN for a seed whose run diverged.
    """
    import numpy as np

    from verdicts.quantities.trends import slope_of

    def slope(table: Table) -> float:
        moved = table[table["V"] > 0]
        return slope_of(np.log10(moved["V"].to_numpy()), moved[column].to_numpy())

    return _each(rows, column, slope)


@quantity("alignment_rank", unit="Spearman's ρ", example="{column: cosine}")
def alignment_rank(rows: Table, column: Column = "cosine") -> Numbers:
    """Spearman's ρ of V and the workers' mean cosine over the scales, by seed (Figure 2)."""
    return _each(rows, column, lambda table: table["V"].rank().corr(table[column].rank()))


@quantity("change_with_scale", unit="share of 1", example="{column: accuracy, minus: 0, of: 1}")
def change_with_scale(rows: Table, column: Column, of: float, minus: float) -> Numbers:
    """The workers' mean of a column at one scale of their spread − that at another, by seed."""

    def change(table: Table) -> float:
        values = table.set_index("scale")[column]
        for scale in (of, minus):
            if scale not in values.index:
                allowed = ", ".join(f"{each:g}" for each in values.index)
                raise UserError(f"scale: {scale!r} was not measured; allowed: {allowed}.")
        return values[of] - values[minus]

    return _each(rows, column, change)


def _each(rows: Table, column: Column, number: Callable[[Table], float]) -> Numbers:
    """By seed: the number of V and the mean of a column over workers, by scale."""
    import numpy as np
    import pandas as pd

    if column not in rows:
        raise UserError(f"column: {column!r} was not measured; measure it at each scale.")
    workers = rows[rows["worker"] >= 0]
    workers = workers.assign(**{column: workers[column].mask(workers["diverged"], np.nan)})
    shown = {"V": ("V", "first"), column: (column, lambda values: np.mean(values.to_numpy()))}
    by_seed = workers.groupby("seed")
    found = {seed: number(of.groupby("scale").agg(**shown).reset_index()) for seed, of in by_seed}
    return pd.Series(found, dtype=float).rename_axis("seed")


@quantity("log_image_variance_ratio", unit="log ratio", example="{of: 200, to: 2}")
def log_image_variance_ratio(rows: Table, of: int, to: int, share: bool = False) -> Numbers:
    """Log of the variance between workers' generated images at step ``of`` over that ``to``.

    By seed. All workers decode the same codes; the variance of a pixel over workers is averaged
    over pixels (Figure A1). With ``share``, it is divided by the variance over workers and codes:
    grey noise has little variance of any kind. inf for a run that diverged by step ``of``.
    """
    import numpy as np
    import pandas as pd

    own = rows[(rows["kind"] == "generation") & (rows["worker"] >= 0)]
    found = {}
    for seed, run in own.groupby("seed"):
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
            found[seed] = np.inf if lost else float(np.log(spreads[0]) - np.log(spreads[1]))
    return pd.Series(found, dtype=float).rename_axis("seed")
