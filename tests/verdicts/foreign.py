"""Results that this project did not make, and claims about them."""

import pandas as pd

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
