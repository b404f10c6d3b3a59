"""Accuracy after equally many bytes sent, or after equally many modelled seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ngo.common.registry import UserError
from verdicts.quantity_registry import quantity

if TYPE_CHECKING:
    import pandas as pd

    from verdicts.rows.selection import Column, Selection


@quantity(
    "difference_at_bytes",
    unit="points",
    example="{minus: {method: gossip}, of: {method: ngo}, over: [u], share: 0.5}",
)
def difference_at_bytes(
    rows: pd.DataFrame,
    of: Selection,
    minus: Selection,
    over: Sequence[Column] = (),
    share: float = 1.0,
    choose: Sequence[Column] = (),
) -> pd.Series:
    """Test accuracy of ``of`` − that of ``minus`` after equally many bytes, in points, by seed.

    The budget is ``share`` of what the most frugal run of the seed, of either side, has sent at its
    end; with ``over``, for each value of these fields. Accuracy is linear between evaluations. A
    seed in which one side diverged is ±inf, against that side; diverged runs set no budget.

    With ``choose``, each side is at the values of these fields with its best held-out accuracy at
    the budget (``best_fields.at_best``).
    """
    return _difference(_either(rows, of, minus), "bytes_sent", of, minus, over, share, choose)


@quantity(
    "difference_at_seconds",
    unit="points",
    example="{of: {method: ngo}, minus: {method: gossip}, network: wide_area}",
)
def difference_at_seconds(
    rows: pd.DataFrame,
    of: Selection,
    minus: Selection,
    network: Mapping[str, float],
    over: Sequence[Column] = (),
    share: float = 1.0,
    choose: Sequence[Column] = (),
) -> pd.Series:
    """The same after equally many seconds, modelled on ``network`` (see ``network_time``)."""
    from ngo.analysis.network_time import network_seconds, read_network

    both = _either(rows, of, minus)
    both["seconds"] = network_seconds(both, read_network(network))
    return _difference(both, "seconds", of, minus, over, share, choose)


def _either(rows: pd.DataFrame, of: Selection, minus: Selection) -> pd.DataFrame:
    """The evaluations of both sides' runs, each once."""
    import pandas as pd

    from verdicts.rows.selection import selected

    both = pd.concat([selected(rows, where) for where in (of, minus)])
    return both.drop_duplicates(["run", "step"], ignore_index=True)


def _difference(
    both: pd.DataFrame,
    cost: str,
    of: Selection,
    minus: Selection,
    over: Sequence[Column],
    share: float,
    choose: Sequence[Column],
) -> pd.Series:
    from verdicts.quantities.differences import difference
    from verdicts.quantities.tuned import best_difference
    from verdicts.rows.equal_budgets import at_equal

    if not 0 < share <= 1:
        raise UserError(f"share: {share!r} is not allowed; it must be above 0, at most 1.")
    values = ["consensus_accuracy", *(["holdout_accuracy"] if choose else [])]
    runs = at_equal(both, cost, values, ["seed", *over], share)
    if choose:
        return best_difference(runs, of, minus, choose, over)
    return difference(runs, of, minus, over=over)
