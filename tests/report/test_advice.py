"""What to use when, from a made-up table."""

import pytest
from made_up_board import CELLS

from ngo.common.registry import UserError
from ngo.report.advice import answers, check_rate, told


def said(cells=CELLS, **asked):
    return list(told(asked, answers(asked, cells)))


def test_a_measured_setting_answers_with_its_best_methods_and_the_evidence():
    assert said(workers=16, skew=0.1) == [
        "the nearest measured setting is 'skewed': 16 workers, data skewed by Dirichlet's β = 0.1.",
        "  best: D² (η = 0.1), accuracy in %: 80.0 [79.0, 81.0], 10 seeds",
        "  may be as good: NGO",
        "  better than DSGD: D²; NGO",
        "",
        "Evidence: docs/settings/figures.md and results/archive/board-metrics.tar, "
        "in the repository.",
    ]


def test_the_nearest_number_of_workers_is_taken_and_what_differs_is_said():
    assert said(workers=20)[:1] == ["the nearest measured setting is 'iid': 16 workers."]
    assert said(workers=50)[:2] == [
        "the nearest measured setting is 'many': 64 workers.",
        "  It has workers 64 in place of 50.",
    ]
    assert "  It has workers 16 in place of 32, skew 0.1 in place of 0.05." in said(
        workers=32, skew=0.05
    )


def test_conditions_that_were_not_measured_together_are_answered_one_by_one():
    lines = said(workers=32, skew=0.1, bandwidth="10Mbit", stragglers=0.1)
    assert lines[0] == "All of this together: not measured. Each alone:"
    assert "bandwidth 10Mbit: not measured: no measured setting is like it." in lines
    assert "  It has workers 16 in place of 32, no limit of bytes, no stragglers." in lines
    (slow,) = [line for line in lines if "'slow'" in line]
    assert slow.startswith("stragglers 0.1: the nearest measured setting is 'slow': 16")
    assert "Best, or may be as good, in each that is measured: NGO." in lines


def test_a_budget_of_bytes_is_no_rate():
    cells = [each for each in CELLS if each.setting == "iid"]
    cells = [type(each)(**{**each.__dict__, "bandwidth": "2.5e+06"}) for each in cells]
    assert "  It has a limit of bytes in place of a rate." in said(cells, bandwidth="10Mbit")


@pytest.mark.parametrize(("asked", "cells"), [({"liars": 1}, CELLS), ({"workers": 8}, ())])
def test_what_was_not_measured_is_said_to_be_so(asked, cells):
    (line, _) = said(cells, **asked)
    assert line.endswith("not measured: no measured setting is like it.")


def test_zero_is_no_disturbance():
    assert said(workers=16, skew=0.0, liars=0) == said(workers=16)


@pytest.mark.parametrize("text", ["10Mbit", "1.5 gbit", "3Mbit/s", "64kbps", "5bit"])
def test_bandwidths(text):
    if text != "64kbps":
        check_rate(text)
        return
    with pytest.raises(UserError, match="64kbit"):
        check_rate(text)


@pytest.mark.parametrize("text", ["10", "Mbit", "10Mbyte", "0Mbit", "-1Mbit", "x" * 500, ""])
def test_what_is_no_bandwidth_is_one_line(text):
    with pytest.raises(UserError, match="bandwidth: .* a number above 0 with a unit: bit, k"):
        check_rate(text)
