"""The judge on shuffled tables, by references of pandas and scipy alone."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from verdicts.claims.claims_file import read_claims
from verdicts.comparison import compare
from verdicts.ledger import judged
from verdicts.reproduction import GAP, reproduce
from verdicts.row import as_table

SEEDS = 7
METHODS = {"A": 70.0, "B": 70.9, "C": 71.4, "D": 64.0}
CLAIM = """\
claims:
  b-over-a: {place: here, says: B is better, kind: order, from: t, quantity: difference,
    with: {of: {m: B}, minus: {m: A}, value: score}, above: 0}
"""


def table():
    """One run of each method and seed, without a column of runs; with noise of the seed."""
    random = np.random.default_rng(13)
    shared = random.normal(0, 5, SEEDS)
    rows = [
        {"m": m, "seed": seed, "score": level + shared[seed] + random.normal(0, 0.8)}
        for m, level in METHODS.items()
        for seed in range(SEEDS)
    ]
    return pd.DataFrame(rows)


def shuffled(rows):
    """The rows in the order of three draws."""
    return [rows.sample(frac=1, random_state=draw, ignore_index=True) for draw in range(3)]


def by_seed(rows):
    return rows.pivot(index="seed", columns="m", values="score")


def test_a_claim_is_paired_by_seed_in_any_order_of_rows(tmp_path):
    (tmp_path / "c.yaml").write_text(CLAIM)
    claims, rows = read_claims(tmp_path / "c.yaml"), table()
    sides = by_seed(rows)
    expected = stats.ttest_rel(sides["B"], sides["A"])
    for given in (rows, *shuffled(rows)):
        found = as_table(judged(claims, {"t": given})).iloc[0]
        assert found["estimate"] == pytest.approx((sides["B"] - sides["A"]).mean())
        assert found["p"] == pytest.approx(expected.pvalue)
        assert (found["low"], found["high"]) == pytest.approx(expected.confidence_interval(0.95))


def test_methods_are_compared_by_seed_at_the_levels_of_holm():
    rows = table()
    sides = by_seed(rows)
    best = sides.mean().idxmax()
    pairs = {
        (a, b): stats.ttest_rel(sides[a], sides[b]).pvalue
        for a in METHODS for b in METHODS if a < b
    }  # fmt: skip
    order = sorted(pairs, key=pairs.get)
    adjusted, largest = {}, 0.0
    for k, pair in enumerate(order):
        largest = adjusted[pair] = max(largest, min(1.0, (len(order) - k) * pairs[pair]))
    significant = sum(p <= 0.05 for p in adjusted.values())
    doubtful = [pair for pair in pairs if pairs[pair] <= 0.05 < adjusted[pair]]
    assert any(best in pair for pair in doubtful)  # which a plain level would call significant
    ranks = dict.fromkeys(METHODS, 1)
    for a, b in (pair for pair, p in adjusted.items() if p <= 0.05):
        ranks[a if sides[a].mean() < sides[b].mean() else b] += 1
    for given in (rows, *shuffled(rows)):
        found = compare(given, "m", "score").frame.set_index("m")
        assert found["rank"].to_dict() == ranks
        for m in set(METHODS) - {best}:
            pair = tuple(sorted((best, m)))
            behind = stats.ttest_rel(sides[best], sides[m])
            level = 0.05 / max(len(order) - order.index(pair), len(order) - significant)
            interval = behind.confidence_interval(1 - level)
            assert found.loc[m, "p"] == pytest.approx(adjusted[pair])
            assert tuple(found.loc[m, ["least", "most"]]) == pytest.approx(tuple(interval))
            assert (found.loc[m, "least"] > 0) == (adjusted[pair] <= 0.05)


def test_gaps_are_paired_by_seed_and_may_be_off_by_both_roundings():
    rows = table().rename(columns={"score": "value"}).assign(setting="", d="x")
    sides = rows.pivot(index="seed", columns="m", values="value")
    gap = sides["B"] - sides["A"]
    printed = pd.DataFrame(
        {"d": "x", "m": ["A", "B"], "value": [70.0, 71.0], "rounding": [0.5, 0.05]}
    )
    half = stats.t.ppf(0.975, SEEDS - 1) * gap.std() * (1 + 1 / SEEDS) ** 0.5
    for given in (rows, *shuffled(rows)):
        found = reproduce(given, printed, gaps=("m", "A")).of(GAP).iloc[0]
        assert (found["ours"], found["sd"]) == pytest.approx((gap.mean(), gap.std()))
        assert found["high"] - found["ours"] == pytest.approx(half + 0.55)
    spread = printed.assign(rounding=0.0, sd=[3.0, 4.0], seeds=[9.0, 4.0])
    found = reproduce(rows, spread, gaps=("m", "A")).of(GAP).iloc[0]
    error = np.hypot(np.hypot(1.0, 2.0), gap.std() / SEEDS**0.5)
    assert found["z"] == pytest.approx((gap.mean() - 1) / error)
    alone = printed.assign(rounding=0.0, seeds=[5.0, 2.0])  # as so few of our seeds
    found = reproduce(rows, alone, gaps=("m", "A")).of(GAP).iloc[0]
    half = stats.t.ppf(0.975, SEEDS - 1) * gap.std() * (1 / 2 + 1 / SEEDS) ** 0.5
    assert found["high"] - found["ours"] == pytest.approx(half)


def test_methods_that_lack_other_seeds_are_compared_on_those_they_share():
    rows = table()
    lacks = ((rows["m"] == "A") & (rows["seed"] == 0)) | ((rows["m"] == "D") & (rows["seed"] == 3))
    sides = by_seed(rows[~lacks])[["A", "D"]].dropna()
    assert len(sides) == SEEDS - 2
    expected = stats.ttest_rel(sides["A"], sides["D"])
    for given in shuffled(rows[~lacks & rows["m"].isin(["A", "D"])]):
        found = compare(given, "m", "score").frame.set_index("m").loc["D"]
        assert found["behind"] == pytest.approx((sides["A"] - sides["D"]).mean())
        assert found["p"] == pytest.approx(expected.pvalue)
