"""Means over seeds with intervals."""

import math

import numpy as np
import pandas as pd
import pytest
from made_up import seeds_of as rows

from ngo.analysis import curves


def course(V_of_seeds, step=10):
    """Evaluations of a run for each seed: V after 0, ``step``, 2 ``step`` …; NaN ends a run."""
    table = []
    for seed, values in enumerate(V_of_seeds):
        for k, V in enumerate(values):
            table.append(
                {"run": f"r{seed}", "method": "ngo", "seed": seed, "step": k * (step + seed),
                 "V": V, "diverged": math.isnan(V)}
            )  # fmt: skip
    return pd.DataFrame(table)


def test_points_against_a_t_table():
    found = curves.points(rows([11.0, 12.0, 13.0], name="accuracy"), ["method"], ["accuracy"])
    point = found.iloc[0]
    half = 4.302653 / math.sqrt(3)  # t(0.975, 2)
    assert (point["mean"], point["seeds"], point["diverged"]) == (12, 3, 0)
    assert [point["low"], point["high"]] == pytest.approx([12 - half, 12 + half], rel=1e-6)


def test_the_mean_V_is_over_the_steps_so_far_and_not_of_the_start():
    found = curves.with_mean_V(course([[9.0, 2.0, 4.0], [3.0, math.nan]]))["V_mean"].tolist()
    assert found[1:3] == [2, 3]
    assert np.isnan([found[0], *found[3:]]).all()
    uneven = course([[9.0, 2.0, 4.0]]).assign(step=[0, 10, 40])
    assert curves.with_mean_V(uneven)["V_mean"].tolist()[1:] == [2, 3.5]


def test_a_diverged_run_is_counted_and_not_averaged():
    values = rows([1.0, math.inf, math.nan, 4.0], diverged=[3])
    point = curves.points(values, ["method"], ["V"]).iloc[0]
    assert (point["mean"], point["seeds"], point["diverged"]) == (1, 1, 3)


def test_evaluations_are_matched_by_their_number():
    table = curves.along(course([[0, 2, 4], [0, 8, 16]]), ["method"], "step", ["V"])
    assert table["step"].tolist() == [0, 10.5, 21]  # seeds own unequal numbers of samples
    assert table["mean"].tolist() == pytest.approx([0, 4, 8])


def test_a_run_that_ended_stays_diverged():
    table = curves.along(course([[0, 2, math.nan], [0, 2, 3, 5]]), ["method"], "step", ["V"])
    assert table["diverged"].tolist() == [0, 0, 1, 1]
    assert table["mean"].tolist() == pytest.approx([0, 2, 3, 5])


def test_intervals_end_where_the_value_does():
    for name, ends in (("accuracy", [0, 100]), ("difference", [-100, 100])):
        point = curves.points(rows([-90.0, 0.0, 99.0], name=name), ["method"], [name]).iloc[0]
        assert [point["low"], point["high"]] == ends
