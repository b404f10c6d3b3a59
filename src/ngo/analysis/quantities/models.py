"""Numbers of kept models: alignment of their gradients, likeness of their images."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.common.registry import UserError
from verdicts.quantity_registry import quantity

if TYPE_CHECKING:
    import pandas as pd

    from verdicts.rows.selection import Column


@quantity("alignment_slope", unit="cosine per factor 10 of V", example="{column: cosine}")
def alignment_slope(rows: pd.DataFrame, column: Column = "cosine") -> pd.Series:
    """The slope of the workers' mean cosine on log10 V over the scales, by seed (Figure 2).

    The cosine of a worker's gradient and the gradient at the mean; its change per factor of ten in
    V. NaN for a seed whose run diverged.
    """
    import numpy as np
    import pandas as pd

    from verdicts.quantities.trends import slope_of

    found = {}
    for seed, table in _by_scale(rows, column).items():
        moved = table[table["V"] > 0]
        found[seed] = slope_of(np.log10(moved["V"].to_numpy()), moved[column].to_numpy())
    return pd.Series(found, dtype=float).rename_axis("seed")


@quantity("alignment_rank", unit="Spearman's ρ", example="{column: cosine}")
def alignment_rank(rows: pd.DataFrame, column: Column = "cosine") -> pd.Series:
    """Spearman's ρ of V and the workers' mean cosine over the scales, by seed (Figure 2)."""
    import pandas as pd

    found = {
        seed: table["V"].rank().corr(table[column].rank())
        for seed, table in _by_scale(rows, column).items()
    }
    return pd.Series(found, dtype=float).rename_axis("seed")


@quantity("change_with_scale", unit="share of 1", example="{column: accuracy, minus: 0, of: 1}")
def change_with_scale(rows: pd.DataFrame, column: Column, of: float, minus: float) -> pd.Series:
    """The workers' mean of a column at one scale of their spread − that at another, by seed."""
    import pandas as pd

    found = {}
    for seed, table in _by_scale(rows, column).items():
        values = table.set_index("scale")[column]
        for scale in (of, minus):
            if scale not in values.index:
                allowed = ", ".join(f"{each:g}" for each in values.index)
                raise UserError(f"scale: {scale!r} was not measured; allowed: {allowed}.")
        found[seed] = values[of] - values[minus]
    return pd.Series(found, dtype=float).rename_axis("seed")


def _by_scale(rows: pd.DataFrame, column: Column) -> dict[int, pd.DataFrame]:
    """For each seed: V and the mean of a column over workers, by scale."""
    import numpy as np

    if column not in rows:
        raise UserError(f"column: {column!r} was not measured; measure it at each scale.")
    workers = rows[rows["worker"] >= 0]
    workers = workers.assign(**{column: workers[column].mask(workers["diverged"], np.nan)})
    return {
        seed: group.groupby("scale")
        .agg(V=("V", "first"), **{column: (column, lambda values: np.mean(values.to_numpy()))})
        .reset_index()
        for seed, group in workers.groupby("seed")
    }


@quantity("log_image_variance_ratio", unit="log ratio", example="{of: 200, to: 2}")
def log_image_variance_ratio(
    rows: pd.DataFrame, of: int, to: int, share: bool = False
) -> pd.Series:
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
