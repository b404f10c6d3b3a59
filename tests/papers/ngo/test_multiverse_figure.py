"""Specification curves of claims over universes, and the table of their verdicts."""

import numpy as np
import pytest
from conftest import REPOSITORY
from figure_files import executed
from made_up_universes import table

from ngo.pipeline.config import read_config
from ngo.pipeline.plan import plan

pytestmark = pytest.mark.filterwarnings("error")

CLAIMS = REPOSITORY / "config/reference/claims.yaml"


def accuracy(spec):
    """NGO is two points ahead where γ is small, and behind elsewhere; a large γ and p diverge."""
    if spec.method == "centralized":
        return 0.2 if spec.lr > 0.25 else 0.9
    lead = 0.02 if spec.gamma < 0.3 else -0.04
    return 0.8 + (lead if spec.method == "ngo" else 0) + 0.001 * spec.p


@pytest.fixture(scope="module")
def found():
    """What the notebook made of the demo's universes."""
    config = read_config(REPOSITORY / f"config/{each}.yaml" for each in ("config", "demo"))
    config["only"] = None
    config["universes"]["digits"]["count"] = 60
    planned = plan(config)
    name = "universes_digits"
    tables = {
        name: table(
            planned.training[name], planned.universes[name], accuracy, lambda spec: spec.gamma or 0
        )
    }
    return executed("multiverse", tables, claims=CLAIMS)


def test_effects_are_sorted_with_the_values_that_decide(found):
    curve = found["numbers"]["multiverse"]
    (own,) = (each for claim, each in curve.groupby("claim") if claim == "u-accuracy-digits")
    assert own["effect"].is_monotonic_increasing
    assert np.allclose(np.abs(own["effect"] - np.sign(own["effect"]) * 3 + 1), 0, atol=0.2)
    assert set(own["first"]) == {"gamma"}
    gammas = own["first_value"].astype(float)
    assert ((own["side"] == 1) == (gammas < 0.3)).all()
    assert own["first_place"].between(0, 1).all()


def test_the_table_tells_what_decides(found):
    rows = found["numbers"]["multiverse_verdicts"].set_index("claim")
    row = rows.loc["u-accuracy-digits"]
    assert (row["verdict"], row["sampled"]) == ("depends", 60)
    assert 20 < row["universes"] < 60  # those whose centralized run trains
    assert row["rule"].startswith("γ ≤ 0.")
    printed = found["printed"]["multiverse_verdicts"].set_index("claim")
    assert printed.loc["u-accuracy-digits", "what decides"].startswith("holds where γ ≤ 0.")
    assert f"{row['universes']} of 60" == printed.loc["u-accuracy-digits", "universes"]
    assert printed.map(lambda cell: isinstance(cell, str)).all(axis=None)  # files have only text
    assert rows.loc["u-synchronization-digits", "verdict"] == "no effect"  # V is the same


def test_without_universes_there_is_nothing_to_draw(house_style):
    nothing = executed("multiverse", {}, claims=CLAIMS)
    assert nothing["printed"]["multiverse_verdicts"].empty
