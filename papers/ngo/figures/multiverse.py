"""Claims over universes. A universe is one choice of the values that the paper does not state, from
a Sobol sample; both methods are paired in it. For each claim, the effect in every universe whose
centralized run trains, sorted; below it, the two values that tell most about the side it is on.

*Look at* the share of universes in which the claim holds beyond the margin. Then at the strips:
where a colour goes from left to right, the claim depends on this value. The table has the rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.patches import Patch

import ngo.analysis  # noqa: F401 (registers the quantities and values that claims name)
from ngo import plots
from ngo.common.former import read_claims
from ngo.plots.declaration import Tables, figure
from ngo.plots.style import COLOURS
from verdicts.claims.universes import specification_curve
from verdicts.ledger import judged
from verdicts.row import Row
from verdicts.statistics.rules import spoken

CURVES, TABLE = "multiverse", "multiverse_verdicts"
SIDES = {
    1: ("as claimed", COLOURS[2]),
    0: ("within the margin", "0.7"),
    -1: ("opposite", COLOURS[1]),
}
COLUMNS = 3


@figure(
    "multiverse",
    section="What the paper leaves open",
    title="Claims over samples of the values that the paper does not state",
    reads="universes_*",
    tables=("multiverse_verdicts",),
)
def numbers(metrics: Mapping[str, pd.DataFrame], claims: Path, network: Mapping) -> Tables:
    """The effects of all universes that count, by claim, and a row for each claim.

    ``first`` and ``second`` are the two deciding settings of a claim, and ``…_value`` their values.
    """
    ledger = read_claims(claims).with_named("network", network)
    rows = [row for row in judged(ledger, metrics) if row.multiverse and not row.cell]
    found = [_curve(row, specification_curve(ledger.claims[row.claim], metrics)) for row in rows]
    return {
        CURVES: pd.concat(found, ignore_index=True) if found else pd.DataFrame({"claim": []}),
        TABLE: pd.DataFrame([_verdict(row) for row in rows]),
    }


def _curve(row: Row, curve: pd.DataFrame) -> pd.DataFrame:
    """The effects of a claim's universes, in order, with the values of two settings."""
    found = curve[["universe", "effect", "side"]].assign(
        claim=row.claim, says=row.says, unit=row.unit, margin=row.margin
    )
    for place, name in zip(("first", "second"), deciding(row), strict=False):
        found[place], found[f"{place}_value"] = name, curve[f"universe_{name}"].astype(str)
        found[f"{place}_place"] = _places(curve[f"universe_{name}"])
    return found


def deciding(row: Row) -> list[str]:
    """The settings of a claim's rule, then those that explain most of the variance: two of them."""
    assert row.multiverse is not None
    shares = row.multiverse.variance
    by_share = sorted(shares, key=lambda name: -shares[name])
    return list(dict.fromkeys([*row.multiverse.rule_settings, *by_share]))[:2]


def _places(values: pd.Series) -> pd.Series:
    """Where each value is among all, from 0 to 1."""
    return (values.rank(method="dense") - 1) / max(1, values.nunique() - 1)


def _verdict(row: Row) -> dict[str, object]:
    found = row.multiverse
    assert found is not None
    shares = sorted(found.variance.items(), key=lambda item: -item[1])
    return {
        **{"claim": row.claim, "says": row.says, "verdict": row.verdict},
        **{"universes": found.count, "sampled": found.of, "both_diverged": found.both_diverged},
        **{"share": found.share, "low": found.low, "high": found.high, "p": found.p},
        **{"median": row.estimate, "unit": row.unit},
        **{"rule": found.rule, "rule_of": found.rule_of, "accuracy": found.rule_accuracy},
        "variance": ", ".join(f"{spoken(name)} {share:.0%}" for name, share in shares[:3] if share),
    }


def draw(numbers: Tables) -> plots.Figure:
    """A panel for each claim: effects in order, and a strip of values for each deciding setting."""
    curves = dict(list(numbers[CURVES].groupby("claim", sort=False)))
    rows = max(1, -(-len(curves) // COLUMNS))
    figure = plots.new_figure(0.7 + 1.9 * rows)
    parts = figure.subfigures(rows, COLUMNS, squeeze=False).flat
    verdicts = {row["claim"]: row for row in numbers[TABLE].to_dict("records")}
    for part, (claim, curve) in zip(parts, curves.items(), strict=False):
        top, *strips = part.subplots(3, 1, sharex=True, height_ratios=[6, 1, 1])
        _effects(top, curve)
        top.set_title(f"{claim.removeprefix('u-')}\n{_said(verdicts[claim])}", fontsize="small")
        for axis, place in zip(strips, ("first", "second"), strict=True):
            _strip(axis, curve, place)
        strips[-1].set_xlabel(f"{len(curve)} universes", fontsize="x-small")
    handles = [Patch(color=colour, label=label) for label, colour in SIDES.values()]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles))
    return figure


def _said(row: Mapping[str, object]) -> str:
    """The verdict, with the rule if there is one."""
    return f"{row['rule_of']} where {row['rule']}" if row["rule"] else str(row["verdict"])


def _effects(axis, curve: pd.DataFrame) -> None:  # type: ignore[no-untyped-def]
    """Bars from 0; one that diverged goes to the end of the axis."""
    margin = curve["margin"].iloc[0]
    finite = curve["effect"].replace([np.inf, -np.inf], np.nan)
    end = max(2 * margin, finite.abs().max() if finite.notna().any() else 0)
    colours = [SIDES[side][1] for side in curve["side"]]
    axis.bar(np.arange(len(curve)), curve["effect"].clip(-end, end), 1.0, color=colours)
    axis.set_yscale("symlog", linthresh=2 * margin)
    axis.axhline(0, color="black", linewidth=0.5)
    axis.set_ylabel(curve["unit"].iloc[0], fontsize="small")
    axis.tick_params(labelsize="x-small")
    powers = [power for k in range(-2, 4) if 2 * margin <= (power := 10.0**k) <= end]
    ticks = [0, *powers, *(-power for power in powers)]
    axis.set_yticks(ticks, [f"{each:g}".replace("-", "−") for each in ticks])
    axis.set_yticks([], minor=True)


def _strip(axis, curve: pd.DataFrame, place: str) -> None:  # type: ignore[no-untyped-def]
    """The values of a setting: dark is low, light is high."""
    axis.set_yticks([])
    axis.set_xticks([])
    if place in curve:
        axis.imshow(curve[[f"{place}_place"]].T, aspect="auto", cmap="viridis", vmin=0, vmax=1)
        name = spoken(curve[place].iloc[0])
        axis.set_ylabel(name, fontsize="x-small", rotation=0, ha="right", va="center")


def note(numbers: Tables, **inputs: object) -> list[str]:
    """What the bars and strips are."""
    return [
        "A bar is the effect in one universe, sorted; beyond twice the margin, the scale is "
        "logarithmic; a run that diverged is at the end of the axis. Strips: the two settings that "
        "tell most about the side, dark for low values and light for high ones."
    ]


def show(numbers: Tables) -> Tables:
    """The verdicts as they are printed."""
    found = numbers[TABLE]
    printed = [
        {
            **{"claim": row.claim, "says": row.says, "verdict": row.verdict},
            "universes": f"{row.universes} of {row.sampled}",
            "diverged on both sides": str(row.both_diverged),
            "holds in": f"{100 * row.share:.0f} % [{100 * row.low:.0f}, {100 * row.high:.0f}]",
            "what decides": f"{row.rule_of} where {row.rule} ({100 * row.accuracy:.0f} % right)"
            if row.rule
            else "–",
            "variance": row.variance,
        }
        for row in found.itertuples()
    ]
    return {TABLE: pd.DataFrame(printed)}


def caption(numbers: Tables, **inputs: object) -> str:
    """What the columns are."""
    return (
        "Claims over universes, samples of the values that the paper does not state. Universes: "
        "those whose centralized run trains, of all sampled, without those in which both sides "
        "diverged. Holds in: the share of these in which "
        "the claim holds beyond its margin, with a 95 % interval. What decides: a rule on at most "
        "two settings, and the share of universes in which it is right, cross-validated. Variance: "
        "the share of the variance of the effects' ranks that a setting explains alone."
    )
