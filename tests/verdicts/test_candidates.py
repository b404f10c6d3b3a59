"""Candidates are weighed by what is printed: known truths, and an independent computation."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from verdicts import UserError
from verdicts.candidates import NONE, Tried, sections, shrunk, weigh, write

CORRELATION = np.array([[1, 0.9, 0.3], [0.9, 1, 0.2], [0.3, 0.2, 1]])
CELLS = ["a", "b", "c"]


def tried(number=400, seed=0, **changes):
    """Candidates with one open value x; cells rise with it, and a choice that does nothing."""
    stream = np.random.default_rng(seed)
    x = stream.uniform(0, 10, number)
    values = pd.DataFrame({"x": x, "rule": stream.choice(["one", "other"], number)})
    mean = np.stack([x, x + 1, 5 - x], axis=1)
    given = {"error": np.full(mean.shape, 0.5), "spread": np.full(mean.shape, 1.0)} | changes
    return Tried(
        values, mean, **{"correlation": CORRELATION, "freedom": 7.0, "scale": "plain"} | given
    )


def test_weights_are_those_of_an_independent_computation():
    made = tried(50, error=np.random.default_rng(1).uniform(0.2, 2, (50, 3)), power=0.6)
    printed = pd.DataFrame({
        "cell": CELLS, "value": [3.0, 4.2, 1.5], "rounding": [0.05, 0.5, 0],
        "sd": [np.nan, 0.9, np.nan], "seeds": [np.nan, 4, 3],
    })  # fmt: skip
    found = weigh(printed, made)
    weights = []
    for mean, error in zip(made.mean, made.error, strict=True):
        runs = np.array([1.0**2, 0.9**2 / 4, 1.0**2 / 3])
        sd = np.sqrt(error**2 + runs + np.array([0.05, 0.5, 0]) ** 2 / 3)
        shape = np.diag(sd) @ CORRELATION @ np.diag(sd)
        weights.append(stats.multivariate_t(mean, shape, df=7).pdf([3.0, 4.2, 1.5]) ** 0.6)
    assert found.weights == pytest.approx(np.array(weights) / np.sum(weights), rel=1e-9)
    assert found.effective == pytest.approx(np.sum(weights) ** 2 / np.sum(np.square(weights)))


def test_a_percentage_is_on_the_scale_of_its_logit():
    one = pd.DataFrame({"x": [0.0]})
    cell = {"cell": ["a"], "value": [90.0], "rounding": [0.5]}
    made = Tried(
        one, np.array([[1.0]]), *(np.full((1, 1), sd) for sd in (0.3, 0.4)), np.eye(1), 9.0
    )
    ends = np.log(0.905 / 0.095), np.log(0.895 / 0.105)
    sd = np.sqrt(0.3**2 + 0.4**2 + ((ends[0] - ends[1]) / 2) ** 2 / 3)
    assert weigh(cell, made).off[0, 0] == pytest.approx((np.log(9) - 1) / sd)


def test_what_remains_holds_the_truth_as_often_as_it_says():
    stream, made = np.random.default_rng(0), tried(1000)
    x, holds, none, inside, held, number = made.values["x"], 0, 0, 0, [], 250
    shape = CORRELATION * (0.5**2 + 1)
    for place in stream.integers(0, 1000, number):
        drawn = stats.multivariate_t.rvs(made.mean[place], shape, df=7, random_state=stream)
        table = {"cell": CELLS, "value": drawn}
        found = weigh(table, made)
        low, high = found.kept(x)
        holds += low <= x[place] <= high
        none += found.none_could
        inside += weigh(table, made, [0, 2]).predicted([1])["inside"].sum()
        held.append(found.frame.set_index("value")["size"]["x"])
    assert holds / number == pytest.approx(0.9, abs=0.045)
    assert inside / number == pytest.approx(0.95, abs=0.03)
    assert none / number <= NONE
    assert np.mean(held) < 0.4


def test_what_tells_nothing_leaves_what_was_tried():
    made = tried(2000, spread=np.full((2000, 3), 1e4))
    found = weigh({"cell": CELLS, "value": [1.0, 2.0, 3.0]}, made)
    assert found.kept(made.values["x"]) == pytest.approx((0.5, 9.5), abs=0.2)
    assert set(found.kept(made.values["rule"])) == {"one", "other"}
    assert found.effective == pytest.approx(2000, rel=1e-3)
    share, low, high = found.share(made.values["x"] < 5)
    assert low < share < high
    assert share == pytest.approx(0.5, abs=0.03)
    assert high - low < 0.06


def test_a_table_that_none_could_have_printed_is_told_with_its_cells():
    made = tried()
    found = weigh({"cell": CELLS, "value": [5.0, 16.0, 0.0]}, made)
    assert found.none_could
    assert found.p < NONE
    assert re.match("No candidate that was tried could have printed this .*b", str(found))
    numbers = found.numbers().set_index("cell")
    assert numbers["given"].abs().idxmax() in ("a", "b")
    assert abs(numbers["off"]["c"]) < 3
    lone = tried(1)._replace(values=pd.DataFrame(index=[0]))
    told = str(weigh({"cell": CELLS, "value": [50.0, 16.0, 0.0]}, lone))
    assert told.startswith("One candidate was tried, and it could not have printed this")
    right = weigh({"cell": CELLS, "value": lone.mean[0]}, lone)
    assert str(right).startswith("One candidate was tried, and it could have printed this")


def test_what_a_group_gains_is_the_best_of_all_shifts():
    table = pd.DataFrame({"cell": CELLS, "value": [5.0, 9.0, 0.0], "group": ["one", "one", "two"]})
    made, shifts = tried(40), np.linspace(-8, 8, 161)
    found = weigh(table, made)
    for group, gain in found.gains.items():
        moved = (table["value"] - shift * (table["group"] == group) for shift in shifts)
        best = max(weigh(table.assign(value=value), made).density.max() for value in moved)
        assert gain == pytest.approx(best - found.density.max(), abs=0.01)
    assert found.gains.is_monotonic_decreasing
    assert found.misfits[1] > found.misfits[0] == found.gains.iloc[0]


def test_how_badly_a_table_fits_is_judged_by_those_of_known_candidates():
    stream, made = np.random.default_rng(0), tried()
    shape = CORRELATION * (0.5**2 + 1)

    def drawn(number, more):
        for place in stream.integers(0, 400, number):
            numbers = stats.multivariate_t.rvs(made.mean[place], shape, df=7, random_state=stream)
            yield {"cell": CELLS, "value": numbers + more}

    judged = made._replace(misfits=[weigh(table, made).misfits for table in drawn(100, 0)])
    none, one, whole = (
        [weigh(table, judged).p for table in drawn(200, more)]
        for more in (0, np.array([0, 4, 0]), np.array([9, 9, 9]))
    )
    assert np.mean(np.less(none, 0.05)) <= 0.08
    assert np.mean(np.less(one, 0.05)) > 0.8
    assert np.mean(np.less(whole, 0.05)) > 0.8
    table = {"cell": CELLS, "value": [5.0, 8.0, 0.0]}
    assert weigh(table, judged, [0, 1]).p == weigh(table, made, [0, 1]).p  # those are of all cells


def test_correlations_are_shrunk_by_their_errors_and_positive_definite():
    assert shrunk(CORRELATION, 10**6) == pytest.approx(CORRELATION, abs=1e-4)
    few = shrunk(CORRELATION, 5)
    assert 0.3 < few[0, 1] < 0.7
    assert few[0, 2] / few[0, 1] == pytest.approx(1 / 3)
    found = shrunk([[1, 0.99, -0.99], [0.99, 1, 0.99], [-0.99, 0.99, 1]], 1000)
    assert np.linalg.eigvalsh(found).min() > 0
    assert np.diag(found) == pytest.approx(1)


def test_the_page_has_what_remains_and_its_picture(tmp_path):
    found = weigh({"cell": CELLS, "value": [3.0, 4.0, 2.0]}, tried())
    write(tmp_path, found, [("More", "Told.", pd.DataFrame())])
    page = (tmp_path / "candidates.md").read_text()
    headings = [line[3:] for line in page.splitlines() if line.startswith("## ")]
    assert headings == [*[name for name, *_ in sections(found)][:-1], "More", "What is assumed"]
    assert "![Of each value, what was tried, grey, and what remains, dark](candidates.png)" in page
    assert list(pd.read_csv(tmp_path / "candidates.csv")["value"]) == ["x", "rule"]


@pytest.mark.parametrize(
    ("printed", "changes", "message"),
    [
        ({"value": [1.0]}, {}, "printed: there is no column 'cell'."),
        ({"cell": ["a"], "value": [1.0]}, {}, r"^mean: \(400, 3\) is not allowed; .* \(400, 1\)"),
        ({}, {"scale": "cubic"}, "^scale: 'cubic' is unknown; allowed: "),
        ({}, {"scale": "log"}, "^printed: .* is not allowed; not all are on the scale log.$"),
        ({}, {"scale": "logit"}, "^printed: .* the scale logit is for percentages.$"),
        ({"cell": CELLS, "value": [0.8, 0.9, 0.7]}, {"scale": "logit"}, "is for percentages.$"),
        ({"cell": CELLS, "value": [80, 90, 170]}, {"scale": "logit"}, "is for percentages.$"),
        ({}, {"error": np.full((400, 3), np.nan)}, "^error: nan is not allowed; all must be fin"),
        ({}, {"correlation": -np.ones((3, 3))}, "^correlation: .*not positive definite[^\\n]*$"),
    ],
)
def test_a_mistake_is_told_in_one_line(printed, changes, message):
    table = printed or {"cell": CELLS, "value": [1.0, -2.0, 3.0]}
    with pytest.raises(UserError, match=message) as error:
        weigh(table, tried()._replace(**changes))
    assert "\n" not in str(error.value)
