"""Cases of measurements, measured again."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from finished_runs import campaign, made_up_run

from ngo.measures.measurement import MEASUREMENTS
from ngo.measures.spectra import SpectraOptions
from ngo.pipeline.archives.remeasuring import (
    Measured,
    Remeasuring,
    bit_difference,
    difference_beyond_rounding,
)

OPTIONS = SpectraOptions(topology=("ring", "random"), workers=(4,), draws=3)


@pytest.fixture(scope="module")
def measured():
    entry = MEASUREMENTS["spectra"]
    return Measured("spectra", "own", entry.measure(OPTIONS), entry.parts(OPTIONS))


@pytest.fixture
def planned(tmp_path):
    entry = {name: list(v) if isinstance(v, tuple) else v for name, v in vars(OPTIONS).items()}
    return campaign(tmp_path, spectra={"own": entry})[1]


def with_gap(measured, factor):
    table = measured.table.assign(spectral_gap=measured.table["spectral_gap"] * factor)
    return dataclasses.replace(measured, table=table)


def test_a_case_is_measured_in_a_process_and_must_have_the_same_bits_there(measured, planned):
    remeasuring = Remeasuring(planned, ())
    rows, here = remeasuring.again(measured, 0, {})
    assert remeasuring.difference(measured, 0) == ("bit for bit", None)
    measured.table.attrs["started"] = "2026-01-02T03:04:05+00:00"  # it is not compared
    assert bit_difference(measured.rows(0), rows) is None
    near = with_gap(measured, 1 + 1e-9)
    assert remeasuring.difference(near, 0) == ("within two roundings", None)
    how, fault = remeasuring.difference(with_gap(measured, 1.01), 0)
    assert how == "within two roundings"
    assert fault.startswith("spectral_gap in row 0: ")
    remeasuring._made_on = here
    how, fault = remeasuring.difference(near, 0)
    assert how == "bit for bit"
    assert fault.startswith("spectral_gap in row 0: ")


def test_the_machine_is_that_of_the_runs_if_they_name_one(planned):
    runs = [made_up_run(spec) for spec in planned.runs.values()]
    assert Remeasuring(planned, runs)._made_on == (
        "One", "2.0", "cpu (x86_64, linux)", "AVX2", "kernels-1",
    )  # fmt: skip
    other = made_up_run(next(iter(planned.runs.values())), processor="Another")
    assert Remeasuring(planned, [*runs, other])._made_on is None


def test_every_case_of_a_table_is_that_of_the_whole(measured):
    assert measured.fault() is None
    for number, case in enumerate(measured.cases):
        assert bit_difference(measured.rows(number), case.measure()) is None
    assert measured.said(0) == "spectra_own: topology ring, n 4"


def frame(*values, **others):
    return pd.DataFrame({"x": values, **others})


@pytest.mark.parametrize(
    ("archived", "passes"),
    [
        (frame(1.0, 2.0), True),
        (frame(1.3, 2.0), True),  # the spread is 0.1: four times that is allowed
        (frame(1.6, 2.0), False),
        (frame(1.0, np.nan), False),
        (frame(1.0, np.inf), False),
    ],
)
def test_a_columns_spread_limits_how_far_its_values_may_be(archived, passes):
    one, two = frame(1.0, 2.0), frame(1.1, 2.0)
    assert (difference_beyond_rounding(archived, one, two) is None) == passes


def test_without_a_spread_the_floor_is_a_share_of_the_value_and_rounding_of_the_largest():
    one = frame(1.0, 1e-9, 0.0)
    assert difference_beyond_rounding(frame(1 + 9e-7, 1e-9, 9e-13), one, one) is None
    assert difference_beyond_rounding(frame(1 + 2e-6, 1e-9, 0.0), one, one).startswith("x in row 0")
    assert difference_beyond_rounding(frame(1.0, 1.1e-9, 0.0), one, one).startswith("x in row 1")


def test_two_values_of_v_that_are_0_up_to_rounding_agree():
    one = frame(4.0038e-30)
    assert difference_beyond_rounding(frame(3.9915e-30), one, one) is None
    assert difference_beyond_rounding(frame(2e-24), one, one).startswith("x in row 0")


def test_words_and_conditions_must_be_the_same():
    one = frame(1.0, name="ring", met=True)
    assert difference_beyond_rounding(one, one, one) is None
    for other in ({"name": "star"}, {"met": False}):
        assert difference_beyond_rounding(one.assign(**other), one, one).startswith(
            next(iter(other))
        )
