"""Accuracy after equally many bytes sent, or after equally many seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ngo.analysis.budgets import at_equal
from ngo.analysis.network_time import network_seconds, read_network
from ngo.common.lazy import Table, pd
from verdicts.quantities import best_difference, difference, quantity
from verdicts.registry import UserError, check, one_of
from verdicts.scores import Scores
from verdicts.table import Column, Selection, selected

# The accuracies that are compared, and their columns.
COLUMNS = {"accuracy": "consensus_accuracy", "workers_accuracy": "workers_accuracy_mean"}


@quantity(
    "difference_at_bytes",
    unit="points",
    example="{minus: {method: gossip}, of: {method: ngo}, over: [u], share: 0.5}",
)
def difference_at_bytes(
    rows: Table,
    of: Selection,
    minus: Selection,
    over: Sequence[Column] = (),
    share: float = 1.0,
    choose: Sequence[Column] = (),
) -> Scores:
    """Test accuracy of ``of`` − that of ``minus`` after equally many bytes, in points, by seed.

    The budget is ``share`` of what the most frugal run of the seed, of either side, has sent at its
    end; with ``over``, for each value of these fields. Accuracy is linear between evaluations. A
    seed in which one side diverged is ±inf, against that side; diverged runs set no budget.

    With ``choose``, each side is at the values of these fields with its best held-out accuracy at
    the budget (``verdicts.scores.at_best``).
    """
    both = _either(rows, of, minus)
    return _difference(both, "bytes_sent", (of, minus), over, share, choose=choose)


@quantity(
    "difference_at_seconds",
    unit="points",
    example="{of: {method: ngo}, minus: {method: gossip}, network: wide_area}",
)
def difference_at_seconds(
    rows: Table,
    of: Selection,
    minus: Selection,
    network: Mapping[str, float] | None = None,
    over: Sequence[Column] = (),
    share: float = 1.0,
    choose: Sequence[Column] = (),
    value: str = "accuracy",
    by: Column | None = None,
) -> Scores:
    """The same after equally many seconds: the run's virtual ones, or modelled ones.

    Modelled seconds are those on ``network`` (see ``network_time``). ``value`` is ``accuracy`` or
    ``workers_accuracy``. ``by`` is a column to choose by, instead of held-out accuracy.
    """
    both = _either(rows, of, minus)
    if network is not None:
        both["seconds"] = network_seconds(both, read_network(network))
    elif "virtual_seconds" not in both or both["virtual_seconds"].isna().any():
        raise UserError("network: give one; these runs have no virtual seconds (field clock).")
    cost = "virtual_seconds" if network is None else "seconds"
    return _difference(both, cost, (of, minus), over, share, value, choose=choose, by=by)


def _either(rows: Table, *sides: Selection) -> Table:
    """The evaluations of both sides' runs, each once."""
    both = pd.concat([selected(rows, where) for where in sides])
    return both.drop_duplicates(["run", "step"], ignore_index=True)


def _difference(
    both: Table, cost: str, sides: tuple[Selection, Selection], over: Sequence[Column],
    share: float, value: str = "accuracy", **best: Any,
) -> Scores:  # fmt: skip
    check(0 < share <= 1, "share", share, "it must be above 0, at most 1")
    one_of("value", value, COLUMNS)
    columns = [COLUMNS[value], *([best.get("by") or "holdout_accuracy"] if best["choose"] else [])]
    runs = at_equal(both, cost, columns, ["seed", *over], share)
    if best["choose"]:
        return best_difference(runs, *sides, over=over, value=value, **best)
    return difference(runs, *sides, value, over)
