"""Seeds for undecided claims: which looks are taken in some hours, and the overlay with their runs.

An overlay of the config has an experiment for each of these claims (``Claim.added``): the runs that
the claim compares, with more seeds. It is the record of the choice, and Snakemake takes it as a
further config file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ngo.common.registry import UserError
from ngo.pipeline.next_looks import NextLook, NextLooks, joined
from ngo.pipeline.places import CLAIMS
from ngo.pipeline.plan import Plan

if TYPE_CHECKING:
    from verdicts.rows.selection import Tables

UNKNOWN = 0.5
"""What a chance that is not known counts, in the order of claims."""

LEAST = 1.0
"""The seconds that a look counts at least, in this order."""


@dataclass(frozen=True)
class Decisions:
    """The looks that are chosen, those that are left, and why other claims get no seeds."""

    claims: int
    undecided: int
    chosen: list[NextLook]
    left: list[NextLook]
    reasons: dict[str, str]
    overlay: dict


def decisions(
    config: Mapping,
    plan: Plan,
    tables: Tables,
    results: Path,
    *,
    hours: float,
    jobs: int = 1,
    earlier: Mapping | None = None,
) -> Decisions:
    """What to add to a tier with these tidy ``tables`` in so many hours, ``jobs`` runs at a time.

    Looks are taken in the order that decides most claims an hour, as long as they fit. ``results``
    has the records of finished runs, which say what a run takes. ``earlier`` is the overlay of an
    earlier call, which ``config`` includes: its seeds stay if their runs are in the tables.
    """
    from verdicts.ledger import judged
    from verdicts.statistics.judgement import UNDECIDED

    rows = judged(plan.ledger, tables)
    nexts = NextLooks(config, plan, tables, results, _made(earlier or {}, tables))
    looks: list[NextLook] = []
    reasons: dict[str, str] = {}
    counted = [row for row in rows if not (row.cell or row.mark)]
    undecided = [row for row in counted if row.verdict == UNDECIDED]
    for row in undecided:
        try:
            looks.append(nexts.of(row, [each for each in rows if each.claim == row.claim]))
        except UserError as error:
            reasons[row.claim] = str(error)
    chosen, left = _within(looks, hours * 3600 * jobs)
    return Decisions(
        claims=len(counted),
        undecided=len(undecided),
        chosen=chosen,
        left=left,
        reasons=reasons,
        overlay=_overlay(config, nexts.made, chosen),
    )


def _made(earlier: Mapping, tables: Tables) -> dict[str, dict]:
    """The experiments of an earlier overlay whose seeds are all in the tables."""
    return {
        name: entry
        for name, entry in earlier.get("training", {}).items()
        if name in tables and set(entry["seeds"]) <= set(tables[name]["seed"])
    }


def _within(looks: Sequence[NextLook], seconds: float) -> tuple[list[NextLook], list[NextLook]]:
    """The looks to take, in their order, and the others: most chance to decide for each second."""
    chosen: list[NextLook] = []
    costs: dict[str, float] = {}
    left = list(looks)

    def worth(look: NextLook) -> float:
        chance = UNKNOWN if math.isnan(look.chance) else look.chance
        return chance / max(LEAST, look.seconds(costs))

    while left:
        left.sort(key=lambda look: (-worth(look), look.claim))
        fits = [look for look in left if sum(costs.values()) + look.seconds(costs) <= seconds]
        if not fits:
            break
        chosen.append(fits[0])
        costs |= fits[0].costs
        left.remove(fits[0])
    return chosen, left


def _overlay(config: Mapping, made: Mapping[str, dict], chosen: Sequence[NextLook]) -> dict:
    """The experiments of added seeds, those with results included."""
    training = dict(made)
    for look in chosen:
        for name, entry in look.entries.items():
            training[name] = joined(training.get(name), entry)
    if not training:
        return {}
    training = dict(sorted(training.items()))
    if not isinstance(only := config.get("only"), list):
        return {"training": training}
    return {
        "only": [name for name in only if name not in training] + [*training],
        "training": training,
    }


def read_tables_of(plan: Plan, folder: Path) -> Tables:
    """The tidy tables that the claims read; a UserError if there are none."""
    from verdicts.rows.tables import read_tables

    if not folder.is_dir():
        raise UserError(f"results: {str(folder)!r} is not there; make the target {CLAIMS} first.")
    return read_tables(folder, plan.tables(CLAIMS))
