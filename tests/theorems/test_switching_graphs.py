import numpy as np
import pytest
import torch
from small_theory import asked, holds, small_rows

from ngo.theorems.switching_graphs import rate

TWO = torch.tensor([[0.5, 0.5], [0.5, 0.5]], dtype=torch.float64)


def test_the_slowest_signal_has_the_speed_of_its_graph():
    switches = small_rows("switches").set_index("signal")
    assert switches.loc["slowest", "rate"] == pytest.approx(switches.loc["slowest", "limit"])
    random = switches.loc["random"]
    assert random["rate"].nunique() == len(random) == 3
    assert (random["rate"] > random["limit"]).all()


def test_the_rate_is_a_mean_over_time():
    apart = torch.tensor([1.0, -1.0], dtype=torch.float64)
    none = torch.eye(2, dtype=torch.float64)
    assert rate([TWO, none], [1.0, 3.0], apart) == pytest.approx(0.25)  # λ₂ = 1, then 0


def test_a_slower_signal_breaks_the_speed():
    rows = [
        {"signal": "slowest", "seed": 0, "rate": 0.1, "limit": 0.1},
        {"signal": "random", "seed": 0, "rate": 0.2, "limit": 0.1},
        {"signal": "random", "seed": 1, "rate": 0.09, "limit": 0.1},
    ]
    assert asked("theory_switching", "switches", rows)["met"].tolist() == [True, True, False]
    lead = asked("theory_switching_lead", "switches", rows)
    assert lead.to_dict() == pytest.approx({0: np.log(2), 1: np.log(0.9)})


def test_it_holds():
    assert holds("theory_switching", "switches")
