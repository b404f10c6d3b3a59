"""Runs that are not paired: tests, claims; and several methods compared."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import verdicts
from verdicts.cli import main
from verdicts.comparison import compare
from verdicts.quantities import QUANTITIES
from verdicts.scores import compared, sides
from verdicts.statistics.evidence import Expectation, unpaired_evidence
from verdicts.statistics.samples import Permutation, Welch

STREAM = np.random.default_rng(1)
OF, MINUS = STREAM.normal(1, 1, 7), STREAM.normal(0, 3, 5)
CLAIM = """\
claims:
  b-over-a:
    {{place: here, says: B is better, kind: order, from: scores, quantity: {quantity},
     with: {{of: {{method: B}}, {minus}: {{method: A}}, value: score}}, above: 0{more}}}
"""
A, B = [70.1, 69.2, 70.1, 70.8], [73.0, 72.0, 74.0, 72.5, 73.1]


@pytest.mark.parametrize("tied", [False, True])
def test_permutations_are_those_of_scipy(tied):
    of, minus = (np.round(side) if tied else side for side in (OF, MINUS))

    def t(x, y, axis):
        variances = (each.var(axis, ddof=1) / each.shape[axis] for each in (x, y))
        return (x.mean(axis) - y.mean(axis)) / np.sqrt(sum(variances))

    theirs = stats.permutation_test((of, minus), t, alternative="greater", n_resamples=1000)
    welch = stats.ttest_ind(of, minus, equal_var=False, alternative="greater").pvalue
    assert Permutation(of, minus).tail(0.0, 1) == pytest.approx(max(welch, theirs.pvalue))
    theirs = stats.permutation_test((of[:5], minus), t, alternative="greater", n_resamples=1000)
    assert Permutation(of[:5], minus).tail(0.0, 1) == pytest.approx(theirs.pvalue)


@pytest.mark.parametrize("test", [Welch, Permutation])
def test_an_interval_has_what_its_test_does_not_reject(test):
    one = test(OF, MINUS)
    low, high = one.interval(0.1)
    for end, way in ((low, 1), (high, -1)):
        assert one.tail(end - way * 0.01, way) <= 0.05 < one.tail(end + way * 0.01, way)


def test_equal_values_of_each_side_are_decided_by_permutations():
    found = unpaired_evidence(np.full(6, 0.3), np.full(5, 0.1 + 0.2), Expectation("above", 0.0))
    assert found.p == 1
    found = unpaired_evidence(np.full(6, 0.5), np.full(5, 0.3), Expectation("above", 0.0))
    assert found.p < 0.05
    assert found.interval(0.05) == pytest.approx((0.2, 0.2), abs=1e-6)


def judged(folder, rows, quantity="difference", minus="minus", more=""):
    rows.to_csv(folder / "scores.csv", index=False)
    (folder / "claims.yaml").write_text(CLAIM.format(quantity=quantity, minus=minus, more=more))
    return verdicts.check(folder / "claims.yaml", folder)[0]


def scores(a, b, **seeds):
    methods = pd.DataFrame({"method": ["A"] * len(a) + ["B"] * len(b), "score": [*a, *b]})
    return methods.assign(**seeds)


@pytest.mark.parametrize("seeds", [{}, {"seed": range(9)}])
def test_sides_without_a_common_seed_are_unpaired(tmp_path, seeds):
    row = judged(tmp_path, scores(A, B, **seeds))
    expected = stats.ttest_ind(B, A, equal_var=False)
    assert (row.verdict, row.p) == ("holds", pytest.approx(expected.pvalue))
    assert "unpaired" in row.reason
    row = judged(tmp_path, scores(A, B, **seeds), "log_ratio", "to")
    expected = stats.ttest_ind(np.log(B), np.log(A), equal_var=False)
    assert (row.low, row.high) == pytest.approx(tuple(expected.confidence_interval(0.95)))


@pytest.mark.parametrize("values", [range(9), [f"P{k:02}" for k in range(9)]])
@pytest.mark.parametrize("name", ["sead", "subject_id", "animal", "speed"])
def test_a_column_that_may_be_the_seed_does_not_unpair_sides(tmp_path, name, values):
    meant = name != "speed" and (name != "sead" or values == range(9))
    row = judged(tmp_path, scores(A, B, **{name: values}))
    assert (row.verdict, repr(name) in row.reason) == ("not run" if meant else "holds", meant)


def test_kinds_of_animals_are_no_seeds(tmp_path):
    assert judged(tmp_path, scores(A, B, animal=["cat", "dog", "rat"] * 3)).verdict == "holds"


def test_common_seeds_are_paired_unless_the_claim_names_a_test(tmp_path):
    rows = scores(A, B, seed=[0, 1, 2, 3, 0, 1, 2, 3, 4])
    row = judged(tmp_path, rows)
    assert row.p == pytest.approx(stats.ttest_rel(B[:4], A).pvalue)
    assert "unpaired" not in row.reason
    row = judged(tmp_path, rows, more=", test: permutation")
    assert row.p == pytest.approx(2 / 126)  # of 9 over 4 choices, none is further apart


@pytest.mark.parametrize("more", ["students", "welch, looks: [3, 5]", "welch, exact: true"])
def test_mistakes_end_in_a_line(tmp_path, more):
    with pytest.raises(verdicts.UserError, match="claims.b-over-a.test"):
        judged(tmp_path, scores(A, B, seed=range(9)), more=f", test: {more}")


def test_the_best_method_is_within_the_noise_and_ranks_use_holm():
    methods = {"A": A, "B": B, "C": [value + 0.3 for value in B], "D": [10.0, 11, 12, 9]}
    rows = pd.DataFrame([{"m": m, "score": value} for m in methods for value in methods[m]])
    table = compare(rows, "m", "score").frame.set_index("m")
    assert table["rank"].to_dict() == {"C": 1, "B": 1, "A": 3, "D": 4}
    p = stats.ttest_ind(methods["C"], methods["D"], equal_var=False).pvalue
    assert table.loc["D", "p"] >= p * 3
    assert table.loc["B", "least"] < 0 < table.loc["A", "least"]
    lowest = compare(rows, "m", "score", best="lowest").frame.set_index("m")
    assert lowest["rank"].to_dict() == {"D": 1, "A": 2, "B": 3, "C": 3}


def test_tasks_have_an_interquartile_mean_and_profiles(tmp_path, capsys):
    index = pd.MultiIndex.from_product([range(5), [*"abcd"], [*"XY"]])
    rows = index.to_frame(index=False, name=["seed", "task", "m"])
    rows["score"] = STREAM.normal(size=len(rows)) + (rows["m"] == "Y")
    of_y = rows[rows["m"] == "Y"].pivot(index="seed", columns="task", values="score")
    profile = QUANTITIES["performance_profile"].function(rows, 0.5, ["task"], of={"m": "Y"})
    assert profile.numbers.mean() == pytest.approx((of_y > 0.5).to_numpy().mean())

    def iqm(*rows, **sides):
        return QUANTITIES["interquartile_mean"].function(*rows, **sides).numbers

    of_a_seed = iqm(rows, ["task"], of={"m": "Y"})
    assert of_a_seed.tolist() == pytest.approx(stats.trim_mean(of_y.to_numpy(), 0.25, axis=1))
    both = iqm(rows, ["task"], of={"m": "Y"}, minus={"m": "X"})
    assert both.equals(iqm(rows, ["task"], of={"m": "Y"}) - iqm(rows, ["task"], of={"m": "X"}))
    rows.to_csv(tmp_path / "t.csv", index=False)
    given = ["compare", str(tmp_path / "t.csv"), "--by", "m", "--metric", "score", "--over", "task"]
    assert main([*given, "--picture", str(tmp_path / "t.png")]) == 0
    assert "X is " in capsys.readouterr().out
    assert (tmp_path / "t.png").stat().st_size > 5000
    assert main([*given[:4], "--metric", "size"]) == 2


def test_an_unpaired_side_says_where_a_value_has_no_logarithm():
    rows = pd.DataFrame({"seed": [0, 0, 1, 1, 5, 5, 6, 6], "m": [*"AAAABBBB"]})
    rows = rows.assign(task=[*"xyxyxyxy"], diverged=[False, True] + [False] * 6, nll=range(8))
    found = sides(rows, [{"m": "A"}, {"m": "B"}], "nll", ["task"], paired=False)
    told = compared(found, log=True).told("nll", logs=True)
    assert told == ["m A: seed 0 is left out: nll is 0"]


def test_other_ends_units_and_tasks_of_runs_are_told(tmp_path):
    rows = scores(A[:4], B[:4]).assign(step=[100] * 4 + [1000] * 4)
    rows["run"] = [*map(str, range(8))]
    told = "runs end at different steps: method "
    assert f"{told}A 100, method B 1000" in str(compare(rows))
    assert told not in str(compare(rows.assign(step=7)))
    # the two sides of a claim may, the runs of one not
    rows["seed"] = [*range(4)] * 2
    assert told not in judged(tmp_path, rows).reason
    rows.loc[0, "step"] = 50
    assert f"{told}A 50 to 100" in judged(tmp_path, rows).reason
    rows = scores(A[:4], B[:4]).assign(seed=[*range(4)] * 2, unit=["ms"] * 7 + ["s"])
    told = "runs have different units: method "
    assert f"{told}A ms, method B ms to s" in str(compare(rows))
    assert f"{told}B ms to s, method A ms" in judged(tmp_path, rows).reason
    for field in ("dataset", "task", "split"):  # beside what needs no word, such as the optimizer
        rows = scores(A[:4], B[:4]).assign(seed=[*range(4)] * 2, optimizer=[*"ssssaaaa"])
        told = f"runs are of different {field}s: method "
        rows[field] = [*"xxxxyyyy"]
        assert f"{told}A x, method B y." in str(compare(rows))
        assert f"{told}B y, method A x" in judged(tmp_path, rows).reason
        assert told not in str(compare(rows, by=field))
        tasks = rows.assign(seed=[0, 0, 1, 1] * 2, **{field: [*"xyxyxyxy"]})
        assert told not in str(compare(tasks, over=field))
    rows = scores(A[:4], B[:4]).assign(task=["x", "y"] * 4, host=[*"abcdefgh"])
    assert "A: runs differ in task.\nB: runs differ in task." in str(compare(rows))
    assert "runs of method B differ in task" in judged(tmp_path, rows).reason
    rows["seed"] = [*range(4)] * 2
    assert "A: runs differ in task.\nB: runs differ in task." in str(compare(rows))
    assert "task" not in judged(tmp_path, rows).reason


def test_shares_beside_percent_are_told_of_accuracies(tmp_path):
    rows = scores(A[:4], B[:4]).assign(seed=[*range(4)] * 2)
    rows.loc[1, "score"] /= 100
    told = "acc is at most 0.692 in 1 of 8 runs, and 70.1 or more in 7 of 8 runs: perhaps share"
    found = rows.rename(columns={"score": "acc"})
    assert told in str(compare(found, metric="acc"))
    sides = {"of": {"method": "B"}, "minus": {"method": "A"}, "value": "acc"}
    assert told in str(verdicts.judge(found, **sides, above=0))
    for other, least in (("loss", 0.001), ("acc", 2.0)):
        found = rows.drop(columns="score").assign(**{other: rows["score"].clip(least)})
        assert "beside percent" not in str(compare(found, metric=other))


def test_rows_that_a_column_names_on_both_sides_are_not_taken_for_runs_unsaid(tmp_path):
    rows = scores(A[:4], B[:4]).assign(epoch=[*range(4)] * 2)
    assert "A: runs differ in epoch.\nB: runs differ in epoch." in str(compare(rows))
    assert "runs of method B differ in epoch" in judged(tmp_path, rows).reason
    for other in (rows.assign(seed=rows["epoch"]), rows.assign(epoch=range(8))):
        assert "epoch" not in judged(tmp_path, other).reason


def test_runs_that_are_all_there_twice_are_not_twice_as_many(tmp_path):
    once = scores(A[1:], B)
    twice = pd.concat([once, once])
    with pytest.raises(verdicts.UserError, match="each row of method A is there 2 times; keep one"):
        compare(twice)
    assert "is there 2 times" in judged(tmp_path, twice).reason
    for rows in (twice[1:-1], twice.round(-1), twice.assign(run=range(len(twice)))):
        assert "times" not in judged(tmp_path, rows).reason


def test_an_interval_of_another_level_says_so(tmp_path):
    seeds = scores(A[:4], B[:4]).assign(seed=[*range(4)] * 2)
    near = judged(tmp_path, seeds.assign(score=seeds["score"] % 1 / 10), more=", margin: 1")
    assert near.verdict == "equivalent"
    assert any(text.startswith("90 % interval") for text in near.details)
    assert any(text.startswith("interval") for text in judged(tmp_path, seeds).details)


def test_folds_are_to_be_called_seeds():
    rows = scores(A[:4], B[:4]).assign(fold=[*range(4)] * 2)
    with pytest.raises(verdicts.UserError, match="Did you mean 'fold'"):
        compare(rows)


def test_arrays_of_texts_are_numbers_or_no_numbers():
    texts = {"A": ["0.5", "0.6", "0.7"], "B": ["0.6", "0.8", "0.9"]}
    numbers = {name: [*map(float, of)] for name, of in texts.items()}
    assert str(compare(texts)) == str(compare(numbers))
    with pytest.raises(verdicts.UserError, match="score: '50%' is not a number"):
        compare(texts | {"A": ["50%", "60%", "70%"]})
