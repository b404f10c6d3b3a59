"""Write docs/verdicts.md: how verdicts are made, and how often they are false (simulated)."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd
import universes_page

from ngo.common.files import write_text
from verdicts.statistics.error_rates import (
    ALIKE,
    MARGIN,
    PLAN,
    SEEDS,
    TUNED_SEEDS,
    error_rates,
    sequential_rates,
    tuned_rates,
)
from verdicts.statistics.error_rates import DRAWS as FEW_DRAWS
from verdicts.statistics.error_rates import EXACT as FEW
from verdicts.statistics.estimates import ALPHA, FEWEST
from verdicts.statistics.evidence import EXACT_FROM, RANKED_FROM
from verdicts.statistics.power import POWER
from verdicts.statistics.sign_flip import DRAWS, EXACT

PAGE = Path(__file__).parents[1] / "docs/verdicts.md"

SIMULATIONS = 2000
TUNED_SIMULATIONS = 4000

NAMES = {
    "false_holds": "false holds",
    "false_fails": "false fails",
    "false_equivalent": "false equivalent",
    "false_below_margin": "false below margin",
    "false": "any false",
    "power": "power",
    "both": "holds, and below the margin",
}


def _slashes(values: Iterable[object]) -> str:
    return " / ".join(map(str, values))


TEXT = f"""\
<!-- Written by `make verdicts-page` (tools/verdicts_page.py). -->
# Verdicts

`config/reference/claims.yaml` lists the claims of the paper. `results/TIER/tables/claims.md` has
a verdict on each. This page explains how a verdict is made, and how often verdicts are false.

| verdict | meaning |
|---|---|
| holds | the runs show what is claimed |
| fails | the runs show the contrary |
| equivalent | an effect is claimed, and the runs show that it is smaller than the margin |
| undecided | these runs show none of this; the table says why, and how many seeds would decide it |
| not run | there are no runs that could decide it; the table says what is missing |

## From runs to a verdict

**One number per seed.** Seeds are independent; values within a seed are not. So the quantity of a
claim combines all runs of a seed in one number: the difference of two methods, the logarithm of
a ratio, a slope, Fisher's z of a correlation. Within a seed, all methods have the same data,
initial parameters, batches and graphs. No seed is left out for its result, but for one that has no
number (see *Diverged runs*); a correlation and a slope on log V leave out runs that diverged or
have V = 0, and the reason says how many.

**A ratio of means**, such as the share of a gap that remains, has two numbers per seed, a part and
a whole. That it is θ is tested on part − θ · whole, by the test below, and its interval has all θ
that this test does not reject (as Fieller's, 1954, does for Student's t). Where runs diverged, the
estimate is the θ at which the median of part − θ · whole is 0: the median of the seeds' ratios, if
all wholes are above 0. If not, there is none.

**Over training** (`mean: V`): step 0 does not count, since what holds before any step says
nothing of a method. Each evaluation counts for the steps since the one before it.

**The claim** says that the mean of this number over seeds is `above` a value, `below` it, or
`near` it, within a margin. `paper` compares with the paper's printed value. Directions and
margins are in the file before the runs are made. Each page says how many of its claims were changed
after the first run, or came later, if its archive has the claims' dates.

**The test.** With fewer than {EXACT_FROM} seeds, Student's t test. From {EXACT_FROM} seeds on,
the exact sign-flip test, which assumes no distribution but symmetry; both p values are in the
table. (All choices of signs are counted up to {EXACT} seeds, {DRAWS:,} random ones of a fixed
stream beyond.) Intervals are Student's t intervals of 95 %, and can disagree with the sign-flip
test where the p value is close to {ALPHA:g}.

- `above`, `below`: the claim holds or fails if the two-sided p value is at most {ALPHA:g}. If
  there is a margin, two one-sided tests at {ALPHA:g} each decide whether the mean is within the
  margin of the value. If only they do: equivalent. If both do, the verdict says both: it holds (or
  fails), and the effect is smaller than the margin.
- `near`: the claim holds if the two one-sided tests show that the mean is within the margin. It
  fails if a two-sided test shows that the mean is outside.
- `paper`: the claim holds as with `near`, the printed value taken as it is. To fail it takes
  more, because the printed value comes from seeds that nobody knows: it counts as one more seed.
  The claim fails if the 95 % prediction interval for one more seed is outside the margin around
  the printed value. The prediction interval is Student's, with any number of seeds.

**Families.** The p values of the claims of a family are adjusted by Holm's method: those of
differences, and separately those of equivalence. Each kind of false verdict then has a
probability of at most {100 * ALPHA:g} % in the whole family. The cells of a claim (topologies, for
example) have verdicts of their own, adjusted within the claim. A claim about `every_cell` fails if
one cell fails, and holds if all cells hold.

**Looks.** A claims file may fix the numbers of seeds at which its claims are judged:
`looks: [10, 20, 40, 80]`, for all claims or for one. A look spends a share of the
{100 * ALPHA:g} %: half of it at the first look, half of what is left at each further one, and all
that is left at the last. A claim's p value is the smallest p / share over the looks taken, each
from the first seeds of that look alone; so it is a p value whenever one stops. Later looks can only
lower it, so Holm's method keeps the {100 * ALPHA:g} % in a family whose claims are at different
looks, and what is decided stays decided.

The number of seeds says which looks were taken. Seeds between two looks do not count: nobody can
stop where it suits. Best values (γ, p) are chosen on the seeds of the first look, and then frozen.
Estimate and interval are those of all seeds of the last look taken, not adjusted for looks.
`verdicts check` says how many seeds the next look at an undecided claim takes.

**Equal seeds.** If all seeds have the same value, {RANKED_FROM} of them decide, by the sign-flip
test. A claim that says `exact: true` is of a number that is not sampled (bytes, edges, rounds): its
value decides, of a single seed too, and seeds that differ are a mistake.

**What decides nothing.** Fewer than {FEWEST} seeds, but for `exact` claims. Runs that miss the
claim's gate (an untrained model, for example), or that were trained on another data set: not run.

**Best values.** A side "at its best γ" has the value with the highest mean held-out accuracy over
the seeds that decide. The best of many equally good values is so by luck, too, as far as a run's
held-out and test accuracy are alike. If both sides have a choice, both have this luck. If only one
has, false verdicts in its favour can be more frequent than 5 %: up to 14 % with 12 values ([how
often](#how-often-verdicts-on-best-values-are-false)). Only one side has a choice in `1a-…` (gossip
has 8 values of γ, centralized training none: *fails* is false more often, *holds* is not), and in
`bytes-ngo-over-base-2` and `seconds-ngo-over-base-2` of [beyond.md](beyond.md) (NGO has 4 values;
the Base-2 graph ends at the mean with γ = 1 alone).

**Diverged runs** are no missing values. A diverged run has the worst value: −∞ for an accuracy, ∞
for a loss, for V, and for a time to a target that it never reaches. A seed in which one side
diverged counts against that side, as an infinite difference. One in which both did (on one of
several graphs, say) is no comparison: it has no number. The reason says how many there are of each.
A value of 0 has the logarithm −∞, which decides its seed in the same way.
With infinite values, ranks replace all values: the estimate is the median, and the p values are
those of Wilcoxon's signed-rank test, exact, which takes {RANKED_FROM} seeds. A `paper` claim is
undecided.

**Pooled claims.** Many claims that are each undecided may decide one question together. The number
of a `pooled` claim for a seed is the mean of theirs, each counted from its value on the side that
it claims. Seeds that one of them lacks are left out. If one of them is not run, neither is it.

**Marks.** A claim that could not come out otherwise is marked as trivial, and one whose prediction
was fitted to the numbers that decide it as circular. One that reads a sentence of the paper in
another way than its main claim does is marked as alternative: its verdict is no word for or against
that sentence. Each has the reason, is judged like the others and is counted apart.

**Registered.** `make register` writes the form of each claim (a hash of what decides it), the date
and the revision to a file next to the claims. The file is committed before the runs and is in every
archive.

The last form before the first run counts, where the first run is the first of the runs and
measurements that decide the claim. A page says that a claim was registered before its first run if
this is the present form of the claim. It says changed if the claim had another form then, and added
if it had none. Words that are only printed do not count as a change, nor the reason of a mark, nor
claims that join its family. The code of quantities is in no form: the revision has it. Measurements
of older archives have no date: nothing is said of claims that they alone decide. The shipped files
have designs, too: dated hashes of what a tier's config planned for a table. A claim counts as
changed if a table that it reads had another design before the first run than the last one in the
file, and as added if it had none. None is added any more: the config's revisions have the plan.
Some claims of the paper were set after a look at earlier numbers:
[review.md](review.md#what-earlier-numbers-shaped) names them.

**Cases.** A theorem, a bound or an arithmetic statement is a list of cases. It holds if all of
them are met, and fails otherwise. The row has its hardest case, with what was measured and its
limit: the case furthest beyond its limit, or the nearest to it if all are met. A printed theorem
and its corrected form are two claims.

**What the seeds could show.** The smallest effect is the difference that so many seeds show with
a power of {100 * POWER:g} %, by the noncentral t distribution with the spread that was seen, at the
level that Bonferroni's correction leaves to each claim of the family. For `near` and `paper`, it
is a difference that exceeds the margin. The seeds needed are those that decide the claim with
that power if the measured mean and spread are the true ones.

## How often verdicts are false

From {{simulations:,}} simulated families for each row, whose truth is known. Values are in
standard deviations of the noise; the margin is {MARGIN:g}. Noise is normal, has heavy tails
(Student's t with 3 degrees of freedom), is the difference of two exponential values (paired), or
is exponential itself (skewed). A share of 5 % is simulated to within ± {{error:.1f}} points (two
standard errors). At a margin's edge, neither holds nor fails counts as true of `near` and
`paper`; each has its own error rate there. "False below margin" is an effect of the margin's size
or more that is said to be smaller. Power is the share of the true claims that get a true verdict.

With normal, heavy-tailed and paired noise, the rates are at most {100 * ALPHA:g} %, up to the
error of simulation. With skewed noise, they are not: both tests assume symmetry. A difference of
two methods within a seed is symmetric if the methods do equally well, whatever the
distribution of their scores (paired). Other quantities need not be, and an outlying seed deserves
a look.

{{table}}
## How often verdicts with looks are false

The same, for families with looks at {_slashes(PLAN)} seeds. At each look, seeds are added to the
undecided claims alone, so that the claims of a family are at different looks. Shares are those
after each look, and the last is that at the end of all looks; seeds are the mean number that a
claim took. Here, the sign-flip test of more than {FEW} seeds has {FEW_DRAWS:,} random choices of
signs.

{{looked}}
## How often verdicts on best values are false

The rates of `verdicts rates --tuned`: of {{tuned_simulations}} claims that one side is above the
other, with {{tuned_seeds}} seeds, independent normal noise, and all values of both sides equally
good. In percent, if the correlation of a run's held-out and test score is {{alike}}; at 1, the
choice is made by the very numbers that are compared.

{{tuned}}"""


def page(rates: pd.DataFrame, looked: pd.DataFrame, tuned: pd.DataFrame, simulations: int) -> str:
    """The page, with a row for each situation and noise, and columns by number of seeds."""
    error = 200 * (ALPHA * (1 - ALPHA) / simulations) ** 0.5
    tables = {"table": printed(rates, SEEDS), "looked": printed(looked, PLAN)}
    return TEXT.format(
        **{"simulations": simulations, "error": error, "tuned_simulations": TUNED_SIMULATIONS},
        **{"tuned_seeds": TUNED_SEEDS, "alike": _slashes(ALIKE), "tuned": tuned_table(tuned)},
        **tables,
    )


def tuned_table(rates: pd.DataFrame) -> str:
    """A row for each number of tried values: shares in percent at each correlation."""
    records = []
    for (of, minus), rows in rates.groupby(["of", "minus"], sort=False):
        shares = {
            NAMES[name]: _slashes(f"{100 * share:.1f}" for share in rows[name])
            for name in ("false_holds", "false_fails")
        }
        records.append({"values of the first side": of, "of the second": minus, **shares})
    return pd.DataFrame(records).to_markdown(index=False) + "\n"


def printed(rates: pd.DataFrame, counts: Sequence[int]) -> str:
    """A table for each situation: shares in percent at each number of seeds."""
    parts = []
    for situation, group in rates.groupby("situation", sort=False):
        several = situation[0].isdigit()
        parts.append(f"**{situation}**\n")
        records = []
        for noise, rows in group.groupby("noise", sort=False):
            by_seeds = rows.set_index("seeds").loc[list(counts)]
            record = {"noise": noise}
            for column, name in NAMES.items():
                if (column == "false" and not several) or by_seeds[column].isna().all():
                    continue
                if column.startswith("false") and not group[column].any():
                    continue
                record[name] = _slashes(f"{100 * share:.1f}" for share in by_seeds[column])
            if "used" in rows:
                record["seeds"] = _slashes(f"{mean:.0f}" for mean in by_seeds["used"])
            records.append(record)
        parts.append(pd.DataFrame(records).to_markdown(index=False) + "\n")
    return f"In percent, at {_slashes(counts)} seeds:\n\n" + "\n".join(parts)


def main(simulations: int = SIMULATIONS) -> None:
    """Simulate, and write the page."""
    rates = error_rates(simulations), sequential_rates(simulations), tuned_rates(TUNED_SIMULATIONS)
    over = universes_page.SIMULATIONS
    universes = universes_page.page(universes_page.simulated(over), over)
    write_text(PAGE, page(*rates, simulations) + universes)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
