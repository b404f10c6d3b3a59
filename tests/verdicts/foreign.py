"""Results that this project did not make, and claims about them."""

import numpy as np
import pandas as pd
import yaml

CLAIMS = """\
claims:
  faster:
    {place: Section 3, says: B is more accurate than A, kind: order, from: scores,
     quantity: difference, with: {of: {method: B}, minus: {method: A}, value: score}, above: 0,
     margin: 0.5, unit: points}
  same:
    {place: Section 3, says: "<b>A</b> and C | agree", kind: equality, from: scores,
     quantity: difference, with: {of: {method: C}, minus: {method: A}, value: score}, near: 0,
     margin: 2}
  absent:
    {place: Section 4, says: B scales, kind: trend, from: sizes,
     quantity: slope, with: {along: size, value: score}, above: 0}
"""


def write(folder, claims=CLAIMS):
    """A claims file, and the CSV table that two of its claims are about."""
    noise = [0.3, -0.2, 0.1, -0.4, 0.2, 0.0]
    pd.DataFrame(
        {"method": method, "seed": seed, "score": mean + each * (1 if method == "A" else 0.5)}
        for method, mean in (("A", 70), ("B", 73), ("C", 70))
        for seed, each in enumerate(noise)
    ).to_csv(folder / "scores.csv", index=False)
    (folder / "claims.yaml").write_text(claims)
    return folder / "claims.yaml"


UNIVERSES = """\
claims:
  over-settings:
    {place: Section 3, says: B is more accurate than A, kind: order, from: runs,
     quantity: difference, with: {of: {method: B}, minus: {method: A}, value: score}, above: 0,
     margin: 1, unit: points,
     universes: {gate: {where: {method: whole}, column: score, take: min, above: 60}}}
"""


def write_universes(folder, difference, count=60, claims=UNIVERSES):
    """A claims file and its table: three methods in each of ``count`` universes.

    ``difference`` is that of B and A, by the universe's row of settings: a step, a rate, a rule.
    Every tenth universe is untrained.
    """
    stream = np.random.default_rng(0)
    steps, rates = (stream.permutation(count) / count for _ in "sr")
    settings = pd.DataFrame({"step": steps, "rate": 10 ** (rates - 3)})
    settings["rule"] = stream.choice(["sgd", "adam"], count)
    rows = []
    for universe, own in settings.iterrows():
        scores = {"whole": 10 if universe % 10 == 9 else 90, "A": 70, "B": 70 + difference(own)}
        given = {"universe": universe, **own.add_prefix("universe_")}
        for seed in (2 * universe, 2 * universe + 1):
            for method, score in scores.items():
                noise = 0.3 * stream.standard_normal()
                rows.append({**given, "method": method, "seed": seed, "score": score + noise})
    (folder / "claims.yaml").write_text(claims)
    (name,) = (each["from"] for each in yaml.safe_load(claims)["claims"].values())
    pd.DataFrame(rows).to_csv(folder / f"{name}.csv", index=False)
    return folder / "claims.yaml"
