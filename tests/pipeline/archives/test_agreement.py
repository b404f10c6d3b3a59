"""Whether metrics are those of a retrained run, on the same kind of processor and elsewhere."""

import dataclasses

import numpy as np
import pytest
from finished_runs import made_up_run
from runs import tiny

from ngo.pipeline.archives.agreement import (
    MULTIPLE,
    bit_difference,
    difference_beyond_rounding,
    same_kind,
    spread_of,
    tolerance,
)

RUN = made_up_run(tiny())


def changed(run=RUN, **columns):
    made = {name: np.array(column) for name, column in columns.items()}
    return dataclasses.replace(run, columns={**run.columns, **made})


def by(step, factor=1.0, plus=0.0, run=RUN):
    """The run with one value of V changed."""
    V = run.columns["V"].copy()
    V[step] = V[step] * factor + plus
    return changed(run, V=V)


@pytest.mark.parametrize("key", ["torch", "device", "instructions", "kernels"])
def test_bits_must_be_the_same_on_the_same_kind_of_processor_only(key):
    assert same_kind(RUN, made_up_run(tiny()))
    about = {**RUN.record["about"], key: "another"}
    assert not same_kind(RUN, made_up_run(tiny(), about=about))
    assert not same_kind(RUN, made_up_run(tiny(), processor="Two"))


def test_one_bit_is_a_difference():
    assert bit_difference(RUN, made_up_run(tiny())) is None
    V = RUN.columns["V"].copy()
    V[1] = np.nextafter(V[1], 2)
    told = bit_difference(changed(V=V), RUN)
    assert told == f"V at step 10: {V[1]} in the archive, {RUN.columns['V'][1]} retrained"
    flipped = changed(diverged=[False, False, True])
    assert bit_difference(flipped, RUN).startswith("diverged at step 20: True in the archive")


def test_runs_of_other_shape_or_facts_differ():
    shorter = made_up_run(tiny(), rows=2)
    assert bit_difference(shorter, RUN) == "2 evaluations in the archive, 3 retrained"
    other = made_up_run(tiny(), parameters=11)
    assert bit_difference(other, RUN) == "parameters is 11 in the archive, 10 retrained"
    fewer = dataclasses.replace(RUN, columns={k: v for k, v in RUN.columns.items() if k != "V"})
    assert bit_difference(fewer, RUN) == "only one of the two has the column V"


def test_a_field_that_an_older_run_does_not_have_is_not_compared():
    spec = {name: value for name, value in RUN.record["spec"].items() if name != "link_failure"}
    older = dataclasses.replace(RUN, record={**RUN.record, "spec": spec})
    assert bit_difference(older, RUN) is None
    assert bit_difference(RUN, older) == "link_failure is 0.0 in the archive, None retrained"


def test_elsewhere_a_multiple_of_the_spread_is_allowed():
    two = by(1, 1.1)
    relative = 0.1 / 1.1
    assert spread_of(RUN, two) == pytest.approx(relative)
    assert difference_beyond_rounding(RUN, RUN, two) is None
    assert difference_beyond_rounding(by(2, 1 - 0.99 * MULTIPLE * relative), RUN, two) is None
    told = difference_beyond_rounding(by(2, 1 - 1.01 * MULTIPLE * relative), RUN, two)
    assert told.startswith("V at step 20: ")
    assert "with two roundings here" in told


def test_the_spread_of_a_run_is_that_of_its_widest_column():
    accuracy = RUN.columns["consensus_accuracy"]
    two = changed(consensus_accuracy=accuracy + 0.05)
    assert spread_of(RUN, two) == pytest.approx(0.05)
    near = changed(consensus_accuracy=accuracy - 0.99 * MULTIPLE * 0.05)
    assert difference_beyond_rounding(near, RUN, two) is None
    far = changed(consensus_accuracy=accuracy - 1.01 * MULTIPLE * 0.05)
    assert difference_beyond_rounding(far, RUN, two).startswith("consensus_accuracy at step 0")
    assert difference_beyond_rounding(by(1, 1.19), RUN, two) is None
    assert difference_beyond_rounding(by(1, 1.21), RUN, two).startswith("V at step 10")


def test_where_two_roundings_agree_the_floor_is_allowed():
    assert difference_beyond_rounding(by(1, 1.0009), RUN, RUN) is None
    assert difference_beyond_rounding(by(1, 1.0011), RUN, RUN).startswith("V at step 10")
    accuracy = RUN.columns["consensus_accuracy"]
    two_images = changed(consensus_accuracy=accuracy + 2 / 360)
    assert difference_beyond_rounding(two_images, RUN, RUN) is None
    three_images = changed(consensus_accuracy=accuracy + 3 / 360)
    assert difference_beyond_rounding(three_images, RUN, RUN).startswith("consensus_accuracy")


def test_what_rounding_leaves_alone_is_exact():
    two = by(1, plus=0.5)
    steps = changed(step=[0, 10, 21])
    assert difference_beyond_rounding(steps, RUN, two).startswith("step at step 21")
    diverged = changed(diverged=[False, False, True])
    assert difference_beyond_rounding(diverged, RUN, two).startswith("diverged at step 20")


def test_values_that_are_not_finite_must_be_the_same():
    finite = changed(holdout_loss=[np.nan, np.nan, 3.0])
    assert difference_beyond_rounding(finite, RUN, RUN).startswith("holdout_loss at step 20")
    other_nan = changed(holdout_loss=[-np.nan, np.nan, np.inf])
    assert difference_beyond_rounding(other_nan, RUN, RUN) is None


def test_a_run_that_rounding_ends_elsewhere_is_compared_by_its_length():
    short = made_up_run(tiny(), rows=2)
    assert difference_beyond_rounding(RUN, RUN, short) is None
    assert difference_beyond_rounding(short, RUN, short) is None
    told = difference_beyond_rounding(made_up_run(tiny(), rows=1), RUN, short)
    assert told == "1 evaluations in the archive, 3 retrained"


def test_the_tolerance_is_that_of_the_spread_at_every_evaluation():
    a, b = np.array([1.0, 2.0, np.nan]), np.array([1.0, 2.5, 4.0])
    near = pytest.approx([0.8, 2.0, 3.2], abs=1e-5)
    assert tolerance("V", a, b, 0.2, 360).tolist() == near
    assert tolerance("consensus_accuracy", a, b, 0.1, 360).tolist() == pytest.approx(
        [0.4] * 3, abs=1e-5
    )
    zero = np.zeros(3)
    assert (tolerance("workers_loss_std", zero, zero, 0.0, 360) > 4.4e-16).all()
