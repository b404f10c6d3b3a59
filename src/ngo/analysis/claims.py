"""The paper's claims about protocols and topologies, with a verdict on each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from ngo.analysis.comparisons import HALVES, last_evaluations, values_by
from ngo.analysis.criteria import Criterion
from ngo.analysis.order import TOPOLOGY_ORDER
from ngo.analysis.published import beside_published
from ngo.analysis.statistics import Estimate, estimate

SEEDS_FOR_A_VERDICT = 3
"""With two seeds, the interval reaches 13 standard errors to either side."""

Cell = tuple[str, str]
"""Topology ("" for none) and protocol, within a data set and partition."""


def claims_table(
    metrics: pd.DataFrame,
    reference: str | Path,
    criteria: Sequence[Criterion],
    *,
    topologies: bool = True,
) -> pd.DataFrame:
    """The differences between the paper's numbers, what was measured, and a verdict on each.

    A claim names the cell first that is better according to the paper. ``paper`` and ``measured``
    are first − second; ``measured`` is paired by seed. If its 95 % interval excludes 0, the claim
    ``holds``, or ``fails`` if the sign is the other one. Otherwise the claim is ``undecided``, or
    there are too few seeds for a verdict. Equal numbers claim nothing. NGO is compared with gossip
    and, if ``topologies``, topologies with each other.
    """
    rows = last_evaluations(metrics)
    records = []
    for criterion in criteria:
        values = values_by(criterion, rows)
        values["paper"] = beside_published(values, reference, criterion.published)
        for (dataset, partition), group in values.groupby(HALVES, sort=False):
            cells = group.set_index([group["topology"].fillna(""), "protocol", "seed"])
            cells = cells.sort_index()
            ours = cells[criterion.compared]
            theirs = cells["paper"].dropna().groupby(level=[0, 1]).first()
            for one, other in _comparisons(theirs.index, topologies):
                lead = theirs[one] - theirs[other]
                if lead and (lead > 0) != criterion.higher_is_better:
                    one, other, lead = other, one, -lead
                measured = estimate((ours[one] - ours[other]).to_numpy())
                sign = "=" if not lead else ">" if lead > 0 else "<"
                records.append(
                    {
                        "measure": criterion.name,
                        "dataset": dataset,
                        "partition": partition,
                        "claim": f"{_name(one)} {sign} {_name(other)}",
                        "paper": lead,
                        "measured": measured.mean,
                        "ci95": measured.half_width,
                        "seeds": measured.count,
                        "verdict": _verdict(measured, lead),
                    }
                )
    return pd.DataFrame(records)


def _comparisons(cells: pd.Index, topologies: bool) -> list[tuple[Cell, Cell]]:
    """The pairs of cells that the paper's text compares: NGO with gossip, a topology with the next
    denser one, centralized with the complete graph.
    """
    pairs = [((t, "ngo"), (t, "gossip")) for t in TOPOLOGY_ORDER]
    for protocol in ("gossip", "ngo") if topologies else ():
        for more, fewer in zip(TOPOLOGY_ORDER[1:], TOPOLOGY_ORDER, strict=False):
            pairs.append(((more, protocol), (fewer, protocol)))
        pairs.append((("", "centralized"), ("complete", protocol)))
    return [pair for pair in pairs if all(cell in cells for cell in pair)]


def _name(cell: Cell) -> str:
    topology, protocol = cell
    return f"{topology} {protocol}".strip()


def _verdict(measured: Estimate, lead: float) -> str:
    """The verdict of ``measured`` on a difference with the sign of ``lead``.

    ``undecided`` also if all seeds differ by the same amount: without a spread there is no
    interval.
    """
    if not lead:
        return "no difference printed"
    if measured.count < SEEDS_FOR_A_VERDICT:
        return "too few seeds"
    if not measured.excludes_zero:
        return "undecided"
    return "holds" if (measured.mean > 0) == (lead > 0) else "fails"
