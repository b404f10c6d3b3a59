"""Random tables: the judge beside a slow reference, and what must not change a verdict."""

import itertools
import json
import re

import numpy as np
import pandas as pd
import pytest
import slow_reference as slow
from cases import cases, refused

import verdicts
from verdicts import reproduction
from verdicts.claims.claims_file import read_claims
from verdicts.comparison import compare
from verdicts.table import of_frame, read_table

NAMES = ["None", "NA", "null", "nan", "1", "a b", "α|β", "True", "x,\"y'"]
WORST = {"score": -np.inf, "nll": np.inf}


class RandomTable:
    """A table with all that may be wrong with one; ``text`` is how it stands in a file."""

    def __init__(self, number):
        draw = self.draw = np.random.default_rng(number)
        self.metric = str(draw.choice(["score", "nll"]))
        self.names = [*map(str, draw.choice(NAMES, draw.integers(2, 6), replace=False))]
        if not {*self.names} - {"1", "NA", "nan"}:
            self.names.append("a b")  # else names of numbers
        seeds, tasks = draw.integers(3, 13), [*"uvw"][: draw.integers(1, 4)]
        kind = draw.choice(["rows", "runs", "unseeded"], p=[0.4, 0.5, 0.1])
        steps = [0, 1, 2, 3] if kind == "runs" else [0]
        self.apart = self.names[0] if draw.random() < 0.15 else None  # other seeds
        seeds, tasks = min(seeds, 6) if self.apart else seeds, tasks[: 1 if kind[0] == "u" else 3]
        seeds = min(seeds, 6) if kind == "unseeded" else seeds
        rows = [
            (name, 100 + seed if name == self.apart else seed, task, step)
            for name in self.names for seed in range(seeds) for task in tasks for step in steps
        ]  # fmt: skip
        table = pd.DataFrame(rows, columns=["method", "seed", "task", "step"])
        self.digits = int(draw.choice([0, 1, 12]))
        level = table["method"].map({name: draw.normal(5, 1) for name in self.names})
        value = (level + draw.normal(0, 1, len(rows)) * draw.choice([0, 1, 1, 1])).abs()
        table[self.metric] = value.round(self.digits)
        if kind == "runs":
            table["run"] = [f"{m}/{t}/{s}" for m, s, t, _ in rows]
            if draw.random() < 0.4:
                table["val_loss"] = value
            table = self.cut(table)
        else:
            table = self.holes(table.drop(columns="step"))
        if draw.random() < 0.3:
            key = table["run"] if "run" in table else pd.Series(table.index, table.index)
            table["diverged"] = key.isin(draw.choice(key.unique(), draw.integers(0, 5)))
        if kind == "unseeded":
            table = table.drop(columns="seed")
        if kind == "unseeded" or (len(tasks) == 1 and draw.random() < 0.5):
            table = table.drop(columns="task")
        if "task" in table and draw.random() < 0.1:
            table = table[(table["method"] != self.names[-1]) | (table["task"] != "u")]
        self.table = table.reset_index(drop=True)
        self.names = [*table["method"].unique()]
        self.over = ["task"] if "task" in table else []

    def holes(self, table):
        """Missing rows and cells, and infinite ones."""
        table = table[self.draw.random(len(table)) > self.draw.choice([0, 0.08])].copy()
        worst = WORST[self.metric]
        for hole, share in ((np.nan, 0.05), (worst, 0.03), (np.nan, 0.005)):
            which = self.draw.random(len(table)) < share * self.draw.integers(0, 2)
            table.loc[which, self.metric] = hole
        return table

    def cut(self, table):
        """Runs that stop early, end in NaN or ∞, have gaps, or log nothing."""
        ends = self.draw.choice(["whole"] * 12 + ["stops", "nan", "inf", "gap", "never"], 500)
        for k, (_, rows) in enumerate(table.groupby("run")):
            late, columns = rows.index[self.draw.integers(1, 4) :], [self.metric]
            columns = ["val_loss"] if "val_loss" in table and k % 3 == 0 else columns
            if ends[k] == "stops":
                table = table.drop(late)
            elif ends[k] in ("nan", "inf"):
                table.loc[late, columns] = np.nan if ends[k] == "nan" else WORST[self.metric]
            elif ends[k] == "gap":
                table.loc[rows.index[1:2], columns] = np.nan
            elif ends[k] == "never":
                table.loc[rows.index, columns] = np.nan
        return table[self.draw.random(len(table)) > self.draw.choice([0, 0, 0.02])]

    def written(self, path):
        """The table as a file, with some spelling of what is missing and true."""
        table = self.table.copy()
        if "diverged" in table:
            yes, no = [("True", "False"), ("yes", "no"), ("1", "0")][self.draw.integers(3)]
            table["diverged"] = np.where(table["diverged"], yes, no)
        table.to_csv(path, index=False, na_rep=["", "NA", "nan"][self.draw.integers(3)])
        return path


def judged(table, names, metric, over, path):
    """The row of a claim that the first of two methods is above the second."""
    sides = {"of": {"method": names[0]}, "minus": {"method": names[1]}, "value": metric}
    claim = {"place": "p", "says": "s", "kind": "order", "from": "t", "quantity": "difference"}
    claim |= {"with": {**sides, **({"over": over} if over else {})}, "above": 0}
    path.write_text(json.dumps({"claims": {"c": claim}}))
    return verdicts.judged(read_claims(path), {"t": of_frame(table)})[0]


def seeds_left_out(text):
    """The seeds that a text names as left out."""
    lists = re.findall(r"seeds? ([-\d, ]+) (?:is|are) left out", text)
    return {int(seed) for listed in lists for seed in listed.split(",")}


def holds_what_is_not_rejected(low, high, p_at, level):
    """Whether an interval has what a test does not reject."""
    if np.isnan(low):
        return np.isnan(p_at(0))
    if low == high and np.isinf(low):
        return p_at(1e6) <= level >= p_at(-1e6)
    small = 1e-6 * (1 + abs(low if np.isfinite(low) else high if np.isfinite(high) else 1))
    for end, way in ((low, 1), (high, -1)):
        inner = end + way * small if high - low > 2 * small else low / 2 + high / 2
        if np.isinf(end):
            if not p_at(-way * 1e6) > level:
                return False
        elif not p_at(end - way * small) <= level < p_at(inner):
            return False
    return True


def check_comparison(found, known, runs):
    """A comparison beside the reference."""
    values, sign = slow.sides(runs, known.names), -1 if known.metric == "nll" else 1
    means = {name: slow.Sample(slow.mean_of(side)) for name, side in values.items()}
    seeded, table = "seed" in runs, found.frame.set_index(found.frame.columns[0])
    counted = [name for name in found.names if means[name].count]
    pairs = {
        (a, b): slow.Difference(sign * values[a], sign * values[b], seeded)
        for a, b in itertools.combinations(counted, 2)
    }
    adjusted, levels = slow.holm({pair: difference.p_at(0) for pair, difference in pairs.items()})
    ranks = {name: 1.0 if means[name].count else np.nan for name in known.names}
    for (a, b), p in adjusted.items():
        if p <= 0.05:
            ranks[b if pairs[a, b].sign > 0 else a] += 1
    estimates = [sign * means[name].estimate for name in counted]
    assert all(a >= b - 1e-9 or a == b for a, b in itertools.pairwise(estimates))
    for name, row in table.iterrows():
        mean, told = means[name], "; ".join(t for t in found.told if t.startswith(f"{name}: "))
        assert [row["runs"], row["mean"]] == pytest.approx([mean.count, mean.estimate], nan_ok=True)
        assert row["rank"] == pytest.approx(ranks[name], nan_ok=True)
        assert holds_what_is_not_rejected(row["low"], row["high"], mean.p_at, 0.05)
        assert (f"in {mean.infinite} of {mean.count} seeds" in told) == (mean.infinite > 0)
        if seeded:
            own = {*values[name].index}
            paired = set().union(*(side.index for side in values.values() if own & {*side.index}))
            assert seeds_left_out(told) == mean.left_out | (paired - own)
        if (pair := pairs.get((found.names[0], name))) is None:
            continue
        expected = [pair.estimate, adjusted[found.names[0], name]]
        assert [row["behind"], row["p"]] == pytest.approx(expected, nan_ok=True, abs=1e-9)
        assert bool(row["paired"]) == pair.paired
        level = levels[found.names[0], name]
        assert holds_what_is_not_rejected(row["least"], row["most"], pair.p_at, level)


def check_claim(row, known, runs):
    """The verdict on a claim beside the reference."""
    pair = slow.Difference(*slow.sides(runs, known.names[:2]).values(), "seed" in runs)
    assert row.pairs == pair.count
    assert [row.estimate, row.p] == pytest.approx([pair.estimate, pair.p_at(0)], nan_ok=True)
    assert holds_what_is_not_rejected(row.low, row.high, pair.p_at, 0.05)
    assert ("unpaired" in row.reason) != pair.paired
    if "seed" in runs:
        assert seeds_left_out(row.reason) == pair.left_out
    assert row.infinite == pair.infinite


def check_reproduction(path, known, runs):
    """Which runs count behind each printed number, and their mean, beside the reference."""
    keys = ["method", *known.over]
    runs = runs.assign(value=runs["value"].replace(-np.inf, np.inf))
    printed = runs.groupby(keys, as_index=False)["value"].count()
    found = reproduction.reproduce(path, printed, known.metric).frame
    for _, row in found.iterrows():
        cell = runs[np.all([runs[key].map(str.strip) == row[key] for key in keys], axis=0)]
        values = cell["value"].dropna()
        ours = values[np.isfinite(values)].mean()
        assert [row["seeds"], row["ours"]] == pytest.approx([len(values), ours], nan_ok=True)
        assert seeds_left_out(row["note"]) == set(cell.loc[cell["value"].isna(), "seed"])


@cases("start", 0, *(pytest.param(start, marks=pytest.mark.slow) for start in range(20, 100, 20)))
def test_the_judge_agrees_with_a_slow_reference(tmp_path, start):
    for number in range(start, start + 20):
        known = RandomTable(number)
        runs = slow.numbers_of_runs(known.table, known.metric, WORST[known.metric])
        path = known.written(tmp_path / "t.csv")
        table = read_table(path) if number % 2 else known.table
        check_comparison(compare(table, "method", known.metric, known.over), known, runs)
        row = judged(table, known.names, known.metric, known.over, tmp_path / "c.yaml")
        check_claim(row, known, runs)
        if "seed" in runs and hasattr(reproduction, "reproduce"):
            check_reproduction(path, known, runs)


def told_of(table, known, path):
    """What must not change: of each method its row, which seeds are left out, and the verdict."""
    found = compare(table, "method", known.metric, known.over)
    frame = found.frame.set_index(found.frame.columns[0])
    numbers = [*frame.loc[known.names, ["rank", "runs", "mean", "low", "high"]].to_numpy().flat]
    lost = "seed" in table and [
        seeds_left_out("; ".join(text for text in found.told if text.startswith(f"{name}: ")))
        for name in known.names
    ]
    row = judged(table, known.names, known.metric, known.over, path)
    verdict = [row.estimate, row.p, row.low, row.high, row.pairs]
    exact = lost, row.verdict, seeds_left_out(row.reason) if "seed" in table else ()
    return exact, [*numbers, *verdict]


def again(table, over):
    """The rows with each task a second time, under another name."""
    if not over:
        return table
    other = table.assign(task=table["task"] + "2")
    if "run" in table:
        other["run"] += " again"
    return pd.concat([table, other], ignore_index=True)


CHANGES = {
    "shuffled rows": lambda table, over: table.sample(frac=1, random_state=0),
    "renamed methods": lambda table, over: table.assign(method="the " + table["method"]),
    "permuted columns": lambda table, over: table[[*table][::-1]],
    "a duplicated task": again,
    "empty columns": lambda table, over: table.assign(note=None, extra_loss=np.nan, more=""),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_says_nothing_changes_no_verdict(tmp_path, change):
    for number in range(300, 303):
        known = RandomTable(number)
        before = told_of(known.table, known, tmp_path / "c.yaml")
        table = CHANGES[change](known.table, known.over)
        if change == "renamed methods":
            known.names = [f"the {name}" for name in known.names]
        after = told_of(table, known, tmp_path / "c.yaml")
        assert after[0] == before[0]
        assert after[1] == pytest.approx(before[1], nan_ok=True, abs=1e-9)


def test_a_peer_may_be_of_another_method_and_missing_runs_are_told_by_name(tmp_path):
    rows = [(m, seed, step) for m in "AB" for seed in range(6) for step in (1, 2)]
    table = pd.DataFrame(rows, columns=["method", "seed", "step"])
    table["run"] = table["method"] + table["seed"].astype(str)
    table["score"] = table["seed"].where((table["method"] == "B") | (table["step"] == 1))
    row = judged(table, "AB", "score", [], tmp_path / "c.yaml")
    assert (row.verdict, row.estimate, row.infinite) == ("reversed", -np.inf, 6)
    assert compare(table, metric="score").frame["mean"].tolist() == [2.5, -np.inf]
    table = pd.DataFrame({"method": ["a"] * 5 + ["b"] * 4, "seed": [*range(5), *range(4)]})
    table = table.assign(value=[*"xxxxx", *"xxxx"], score=range(9))
    found = compare(table, over="value")
    assert repr(found) == str(found)
    assert str(found).splitlines()[-1].startswith("b: seed 4 is left out: a run to compare")
    refused("only a header", compare, table[:0])
