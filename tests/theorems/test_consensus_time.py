import math

import numpy as np
import pytest
from small_theory import asked, holds, small_rows

from ngo.common.registry import UserError
from verdicts.statistics.cases import hardest


def test_every_graph_has_its_draws_and_the_sharp_time_is_twice_the_printed():
    bounds = small_rows("bounds")
    cells = bounds[["topology", "n"]].drop_duplicates()
    assert cells["n"].tolist().count(2) == 1  # all topologies of two workers are the same
    assert {"ring", "complete"} <= set(cells["topology"])
    assert (bounds.groupby(["topology", "n", "p"])["draw"].count() == 2).all()
    assert np.allclose(bounds["sharp"], 2 * bounds["paper"])
    assert (bounds["measured"] <= bounds["sharp"] * (1 + 1e-5)).all()


def test_finite_time_is_about_the_exponent_of_the_figure():
    rows = [{"p": p, "draw": 0, "measured": 1.0, "sharp": 1.2} for p in (0.5, 0.9)]
    assert len(asked("theory_finite_time", "bounds", rows)) == 1


def test_an_unknown_form_is_refused():
    row = {"p": 0.5, "draw": 0, "measured": 1.0, "sharp": 1.0}
    with pytest.raises(UserError, match="^form: 'shrp' is unknown; allowed: corrected, paper"):
        asked("theory_consensus_time", "bounds", [row], form="shrp")


def test_the_printed_time_is_half_of_the_sharp_one_and_fails():
    assert not holds("theory_consensus_time", "bounds", form="paper")
    found = asked("theory_consensus_time", "bounds", small_rows("bounds"), form="paper")
    worst = hardest(found)
    assert worst["measured"] / worst["limit"] == pytest.approx(2, 1e-3)
    assert holds("theory_consensus_time", "bounds", form="corrected")
    assert holds("theory_consensus_time", "bounds", form="sharp")
    assert holds("theory_finite_time", "bounds")


@pytest.mark.parametrize(
    ("name", "late", "arguments"),
    [("theory_consensus_time", 1.201, {"form": "sharp"}), ("theory_finite_time", math.inf, {})],
)
def test_a_late_consensus_is_seen(name, late, arguments):
    rows = [{"p": 0.5, "draw": 0, "measured": time, "sharp": 1.2} for time in (1.2, late)]
    assert asked(name, "bounds", rows, **arguments)["met"].tolist() == [True, False]
