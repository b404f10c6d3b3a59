import pytest
from small_theory import asked, holds, small_rows

from ngo.common.registry import UserError


def met(name, kind, rows, **arguments):
    return asked(name, kind, rows, **arguments)["met"].tolist()


def test_a_sublinear_coupling_tolerates_less_delay_than_the_theorem_says():
    delays = small_rows("delays")
    sublinear = delays[delays["p"] < 1]
    assert (sublinear["tolerated"] < 0.7 * sublinear["limit_of_rounds"]).all()


def test_a_linear_coupling_tolerates_the_limit_to_a_round():
    delays = small_rows("delays")
    linear = delays[delays["p"] == 1]
    off = (linear["tolerated"] - linear["limit_of_rounds"]).abs()
    assert (off <= linear["gamma"]).all()
    assert (linear["residual"] < 1e-6).all()


def test_shorter_rounds_come_closer_to_the_limit():
    limits = small_rows("limits")
    off = (limits["tolerated"] - limits["limit"]).abs()
    assert (off <= 2 * limits["step"]).all()
    worst = off.groupby(limits["step"]).max()
    assert worst.index.tolist() == [0.05, 0.1, 0.2]
    assert worst.iloc[0] < worst.iloc[-1]


def test_two_workers_go_round_for_ever_with_a_delay_of_one_round():
    steps = small_rows("unit_steps")
    two = steps[steps["n"] == 2].set_index("delay")
    assert two.loc[1, "limit"] == pytest.approx(3.14159265 / 2)  # λ_n = 1: the delay is allowed
    assert two.loc[0, "residual"] < 1e-20
    assert two.loc[1, "residual"] == pytest.approx(1)


def test_v_neither_vanishes_nor_grows_at_the_limit():
    marginal = small_rows("marginal")
    at = marginal[marginal["share"] == 1]["residual"]
    assert at.between(0.5, 2).all()
    assert marginal[marginal["share"] < 1]["residual"].max() < 1e-6


def test_the_limit_must_come_closer_with_shorter_rounds():
    rows = [{"step": step, "tolerated": 1.38, "limit": 1.5} for step in (0.1, 0.05)]
    assert met("theory_delay_limit", "limits", rows) == [True, False]


def test_unit_steps_must_reach_consensus_exactly_where_it_is_allowed():
    rows = [
        {"delay": delay, "limit": limit, "residual": residual}
        for delay, limit, residual in (
            (1, 1.5, 1e-9), (1, 1.5, 0.1), (1, 0.9, 1e-9), (1, 0.9, 0.1)
        )
    ]  # fmt: skip
    assert met("theory_delay_unit_step", "unit_steps", rows) == [True, False, False, True]


def test_sublinear_delays_are_judged_by_zero_or_by_their_floor():
    rows = [
        {"p": 0.75, "residual": 1.9e-3, "floor": 1e-3},
        {"p": 0.75, "residual": 2.1e-3, "floor": 1e-3},
        {"p": 0.75, "residual": 5e-7, "floor": 1e-20},
        {"p": 1.0, "residual": 1e-9, "floor": 1e-20},
    ]
    assert met("theory_delay_residual", "delays", rows) == [False, False, True]
    assert met("theory_delay_residual", "delays", rows, linear=True) == [True]
    assert met("theory_delay_floor", "delays", rows) == [True, False, True]


@pytest.mark.parametrize(
    ("at_limit", "closed", "opened"), [(1.0, [True, False], [True, True]),
                                       (1e-9, [True, True], [True, False])]
)  # fmt: skip
def test_only_one_of_the_two_forms_can_hold(at_limit, closed, opened):
    rows = [
        {"delay": 5, "share": 0.9, "residual": 1e-9},
        {"delay": 5, "share": 1.0, "residual": at_limit},
    ]
    assert met("theory_delay_marginal", "marginal", rows, form="closed") == closed
    assert met("theory_delay_marginal", "marginal", rows, form="open") == opened
    with pytest.raises(UserError, match="^form: 'shut' is unknown; allowed: closed, open"):
        met("theory_delay_marginal", "marginal", rows, form="shut")


def test_the_theorem_holds_for_linear_coupling_in_short_rounds_only():
    assert holds("theory_delay_limit", "limits")
    assert holds("theory_delay_residual", "delays", linear=True)
    assert not holds("theory_delay_residual", "delays")
    assert not holds("theory_delay_floor", "delays")
    assert not holds("theory_delay_unit_step", "unit_steps")
    assert not holds("theory_delay_marginal", "marginal", form="closed")
    assert holds("theory_delay_marginal", "marginal", form="open")
