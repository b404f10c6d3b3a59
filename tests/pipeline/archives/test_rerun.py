"""Whether numbers are those of a run or a case made again: on the same processor, and elsewhere."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from cases import cases
from finished_runs import made_up_run
from runs import tiny

from ngo.pipeline.archives.verify import MULTIPLE, Made, compared, difference, made_run

RUN = made_run(made_up_run(tiny()))
ACCURACY = RUN.table["consensus_accuracy"]


def changed(**columns):
    return dataclasses.replace(RUN, table=RUN.table.assign(**columns))


def by(step, factor=1.0, plus=0.0):
    """The run with one value of V changed."""
    V = RUN.table["V"].copy()
    V[step] = V[step] * factor + plus
    return changed(V=V)


def case(*values, made_on=None, **others):
    return Made(pd.DataFrame({"x": values, **others}), made_on)


@pytest.mark.parametrize("key", ["torch", "device", "instructions", "kernels"])
def test_bits_must_be_the_same_on_the_same_kind_of_processor_only(key):
    about = {**made_up_run(tiny()).record["about"], key: "another"}
    other, asked = made_run(made_up_run(tiny(), about=about)), []

    def again(environment):
        asked.append(environment)
        return by(1, 1.1) if environment else RUN

    assert compared(RUN, again) == ("bit for bit", None)
    how, fault = compared(by(1, 1 + 1e-9), again)
    assert (how, fault[:12]) == ("bit for bit", "V at step 10")
    assert asked == [{}, {}]
    near = dataclasses.replace(by(1, 1 + 1e-9), made_on=other.made_on)
    assert compared(near, again) == ("within two roundings", None)
    assert asked[-1]["NGO_MARCH"] == "none"
    far = dataclasses.replace(by(1, 2.0), made_on=other.made_on)
    assert compared(far, again)[1].startswith("V at step 10: ")


def test_one_bit_another_shape_and_other_facts_are_differences():
    assert difference(RUN, RUN) is None
    V = RUN.table["V"].copy()
    V[1] = np.nextafter(V[1], 2)
    told = f"V at step 10: {V[1]} in the archive, {RUN.table['V'][1]} here"
    assert difference(changed(V=V), RUN) == told
    flipped = changed(diverged=[False, False, True])
    assert difference(flipped, RUN).startswith("diverged at step 20: True in the archive")
    shorter = made_run(made_up_run(tiny(), rows=2))
    assert difference(shorter, RUN) == "2 rows in the archive, 3 here"
    other = made_run(made_up_run(tiny(), parameters=11))
    assert difference(other, RUN) == "parameters is 11 in the archive, 10 here"
    fewer = dataclasses.replace(RUN, table=RUN.table.drop(columns="V"))
    for one, two in ((fewer, RUN), (RUN, fewer)):
        assert difference(one, two) == "only one of the two has the column V"
    older = {name: value for name, value in RUN.facts.items() if name != "link_failure"}
    assert difference(dataclasses.replace(RUN, facts=older), RUN) is None


def test_elsewhere_a_multiple_of_the_widest_columns_spread_is_allowed_in_a_run():
    two = by(1, 1.1)
    relative = MULTIPLE * 0.1 / 1.1
    assert difference(by(2, 1 - 0.99 * relative), RUN, two) is None
    told = difference(by(2, 1 - 1.01 * relative), RUN, two)
    assert told.startswith("V at step 20: ")
    assert "with two roundings here" in told
    two, absolute = changed(consensus_accuracy=ACCURACY + 0.05), MULTIPLE * 0.05
    assert difference(changed(consensus_accuracy=ACCURACY - 0.99 * absolute), RUN, two) is None
    told = difference(changed(consensus_accuracy=ACCURACY - 1.01 * absolute), RUN, two)
    assert told.startswith("consensus_accuracy at step 0")
    assert difference(by(1, 1.19), RUN, two) is None
    assert difference(by(1, 1.21), RUN, two).startswith("V at step 10")


def test_where_two_roundings_agree_a_floor_is_allowed_and_what_rounding_leaves_is_exact():
    assert difference(by(1, 1.0009), RUN, RUN) is None
    assert difference(by(1, 1.0011), RUN, RUN).startswith("V at step 10")
    assert difference(changed(consensus_accuracy=ACCURACY + 2 / 360), RUN, RUN) is None
    three = changed(consensus_accuracy=ACCURACY + 3 / 360)
    assert difference(three, RUN, RUN).startswith("consensus_accuracy")
    two = by(1, plus=0.5)
    assert difference(changed(step=[0, 10, 21]), RUN, two).startswith("step at step 21")
    assert difference(changed(epoch=[0.0, 1.0, 2.001]), RUN, two).startswith("epoch at step 20")
    diverged = changed(diverged=[False, False, True])
    assert difference(diverged, RUN, two).startswith("diverged at step 20")
    one = case(1.0, name="ring", met=True)
    for other in ({"name": "star"}, {"met": False}):
        wrong = Made(one.table.assign(**other), None)
        assert difference(wrong, one, one).startswith(next(iter(other)))


def test_a_run_that_rounding_ends_elsewhere_is_compared_by_its_length():
    short = made_run(made_up_run(tiny(), rows=2))
    assert difference(RUN, RUN, short) is None
    assert difference(short, RUN, short) is None
    told = difference(made_run(made_up_run(tiny(), rows=1)), RUN, short)
    assert told == "1 rows in the archive, 3 here"


@cases(
    "archived, passes",
    (case(1.0, 2.0), True),
    (case(1.3, 2.0), True),  # the spread is 0.1: four times that is allowed
    (case(1.6, 2.0), False),
    (case(1.0, np.nan), False),
    (case(1.0, np.inf), False),
)
def test_a_columns_spread_limits_how_far_the_values_of_a_case_may_be(archived, passes):
    one, two = case(1.0, 2.0, y=3.0), case(1.1, 2.0, y=3.0)
    archived = Made(archived.table.assign(y=3.0), None)
    assert (difference(archived, one, two) is None) == passes
    assert difference(Made(one.table.assign(y=3.1), None), one, two).startswith("y at row 0")


def test_the_floor_of_a_case_is_a_share_of_the_value_and_rounding_of_the_largest():
    one = case(1.0, 1e-9, 0.0)
    assert difference(case(1 + 9e-7, 1e-9, 9e-13), one, one) is None
    assert difference(case(1 + 2e-6, 1e-9, 0.0), one, one).startswith("x at row 0")
    assert difference(case(1.0, 1.1e-9, 0.0), one, one).startswith("x at row 1")
    one = case(4.0038e-30)
    assert difference(case(3.9915e-30), one, one) is None
    assert difference(case(2e-24), one, one).startswith("x at row 0")
