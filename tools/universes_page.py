"""The part of docs/verdicts.md on claims over universes, with their error rates (simulated)."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from itertools import repeat

import pandas as pd

from verdicts.statistics.error_rates import SIZES, TRUTHS, multiverse_rates
from verdicts.statistics.estimates import ALPHA
from verdicts.statistics.multiverse import FEWEST_UNIVERSES, LEAST, MOST
from verdicts.statistics.rules import CUTS, FOLDS, GAIN

SIMULATIONS = 1000

TEXT = f"""
## Claims over universes

A claim with `universes` is not about one choice of the settings that a paper leaves unstated, but
about a sample of them. A *universe* is one draw of all these settings; both sides of the claim are
run in it, with the same seeds.

| verdict | meaning |
|---|---|
| robust | the claim holds beyond the margin in at least {100 * MOST:g} % of the universes |
| reversed | its opposite does |
| no effect | the effect is within the margin in at least {100 * MOST:g} % of them |
| depends | none of these, and a rule on two settings at most tells where it does, or its opposite |
| undecided | none of these |

**What counts.** A universe counts if it meets the claim's gate (its centralized run trains) and a
seed has a number. Its effect is the mean over its seeds. It is beyond the margin as claimed, beyond
it the other way, or within it. A verdict takes {FEWEST_UNIVERSES} universes.

**Diverged runs.** A run has diverged if a loss or a parameter is no longer finite (the column
`diverged`). If one side of a universe diverged, it has lost: the effect is infinite, and counts. If
both did, on one of its graphs or on all, nothing is known: the universe does not count, and the
reason says how many these are. The same is true of a contrast whose diverged runs pull to both
sides, and of a universe in which one side diverged with one seed, and the other with another. A run
that ends at the accuracy of chance with finite losses has not diverged: its accuracy counts.

**Shares.** Their 95 % intervals are Clopper and Pearson's, which are exact: Wilson's are shorter,
and miss a share near 1 more often than they say. For robust, reversed and no effect, the lower
limit must be at least {100 * LEAST:g} %, too. A Sobol sample covers the settings more evenly than
independent draws, so that its shares vary less, and the interval is wide enough.

**All universes at once.** The signs of whole universes are flipped, as in PIMA (Girardi et al.,
2024, arXiv 2210.02794), where those of observations are: if no universe has an effect, each sign is
as likely as the other. Effects count by rank, since their scales differ between universes and a few
large ones must not decide. Robust and reversed need this p value to be at most {ALPHA:g}, too. It
assumes that universes are independent: each has seeds of its own.

**What decides it.** All trees on one or two settings with two, three or four leaves are tried, with
up to {CUTS} thresholds for each setting. Which size is needed, and how often the rule is right, are
found by {FOLDS}-fold cross-validation. A larger tree must be right significantly more often than a
smaller one, and the smallest than the more frequent answer (exact sign test, one-sided, {ALPHA:g}
shared among the sizes). The rule must make at most {100 * GAIN:g} % of the mistakes of the more
frequent answer. It tells where the claim holds. If no rule does, and the opposite is more frequent,
it may tell where the opposite holds: the p values of both questions are then doubled. Of a claim
that holds in fewer than {100 * (1 - LEAST):.0f} %, the opposite alone is asked. Thresholds are
readable numbers between sampled values. Shares of variance are correlation ratios of the effects'
ranks, over five parts of equal size of each setting, with their bias taken off (ε², Kelley 1935).

**Families.** The p values of all universes, of shares (an exact binomial test of {100 * LEAST:g} %)
and of rules are adjusted within the family by Holm's method.

**Noise.** With few seeds the effect of a universe is noisy, and so is its side of the margin. A
share is therefore that of measurements with so many seeds, in universes drawn from the ranges.
Where effects are clearly beyond or within the margin, that is the share of universes. Where they
are within the noise of the margin, about half of them are counted. Such universes make `no effect`
and `robust` rarer in most cases. But where a claim holds in 80 % of the universes, and is at the
margin in all others, 90 % are measured beyond it, and robust is often said (the last row below).
With any symmetric noise, a lower limit of {100 * LEAST:g} % measured is one of
{100 * (2 * LEAST - 1):.0f} % of universes whose true effect is at least the margin.

## How often verdicts over universes are false

From {{simulations:,}} simulated multiverses for each row. Effects are in standard deviations of the
noise of one seed; the margin is 1. There are six settings between 0 and 1, of which `a` and `b` may
decide. Shares are in percent, at {{sizes}} (universes × seeds in each).
False is any verdict but undecided that is not true, and a rule that names a setting that does not
decide. Power is the share of claims that get their true verdict, and significant that of claims for
which the test over all universes is.

False verdicts are at most {100 * ALPHA:g} %, up to the error of simulation, in all rows but the
last (see Noise). The test over all universes assumes symmetry, as the sign-flip test of seeds does:
with skewed noise around 0 it is significant too often. It makes no verdict alone.

{{table}}"""


def page(rates: pd.DataFrame, simulations: int) -> str:
    """The part on claims over universes, with a row for each truth and noise."""
    records = []
    for (truth, noise), rows in rates.groupby(["truth", "noise"], sort=False):
        by_size = rows.set_index(["universes", "seeds"]).loc[list(SIZES)]
        record = {"truth": truth, "noise": noise}
        for column in ("false", "power", "significant"):
            shares = [f"{100 * share:.1f}" for share in by_size[column].dropna()]
            record[column] = " / ".join(shares) or "–"
        records.append(record)
    table = pd.DataFrame(records).to_markdown(index=False, disable_numparse=True) + "\n"
    sizes = " / ".join(f"{count} × {seeds}" for count, seeds in SIZES)
    return TEXT.format(simulations=simulations, sizes=sizes, table=table)


def simulated(simulations: int) -> pd.DataFrame:
    """The rates of all truths, simulated on all cores."""
    with ProcessPoolExecutor() as pool:
        parts = pool.map(_of_truth, range(len(TRUTHS)), repeat(simulations))
        return pd.concat(parts, ignore_index=True)


def _of_truth(place: int, simulations: int) -> pd.DataFrame:
    return multiverse_rates(simulations, TRUTHS[place : place + 1])
