"""What figures show of claims over universes: curves of effects, and verdicts."""

from __future__ import annotations

import pandas as pd

from verdicts.statistics import deciding, meets, spoken
from verdicts.verdict_rows import Row


def curve_rows(row: Row, curve: pd.DataFrame) -> pd.DataFrame:
    """The effects of a claim's universes, in order, with the values of two settings.

    ``curve`` is ``specification_curve`` of the claim. New columns: ``first`` and ``second``, the
    settings; ``…_value``; ``rule_says``, whether the claim's rule says yes.
    """
    facts = {"claim": row.claim, "says": row.says, "unit": row.unit, "margin": row.margin}
    rows = curve[["universe", "effect", "side"]].assign(**facts)
    settings = curve.filter(like="universe_").rename(columns=lambda n: n.removeprefix("universe_"))
    rows["rule_says"] = meets(row.multiverse.rule, settings)
    chosen = deciding(row.multiverse.rule_settings, row.multiverse.variance)
    for place, name in zip(("first", "second"), chosen, strict=False):
        rows[place], rows[f"{place}_value"] = name, curve[f"universe_{name}"].astype(str)
    return rows


def verdict_facts(row: Row) -> dict[str, object]:
    """The verdict of a claim over universes, and what decides it, for a table."""
    over = row.multiverse
    shares = sorted(over.variance.items(), key=lambda item: -item[1])
    return {
        **{"claim": row.claim, "says": row.says, "verdict": row.verdict},
        **{"universes": over.count, "sampled": over.of, "both_diverged": over.both_diverged},
        **{"share": over.share, "low": over.low, "high": over.high, "p": over.p},
        **{"median": row.estimate, "unit": row.unit},
        **{"rule": over.rule, "rule_of": over.rule_of, "accuracy": over.rule_accuracy},
        "variance": ", ".join(f"{spoken(name)} {share:.0%}" for name, share in shares[:3] if share),
    }
