import pytest
import torch
from small_theory import small_parts

from ngo.measures.theorems.switching_speed import rate

TWO = torch.tensor([[0.5, 0.5], [0.5, 0.5]], dtype=torch.float64)


def test_the_slowest_signal_has_the_speed_of_its_graph(tmp_path):
    switches = small_parts(tmp_path)["switches"].set_index("signal")
    assert switches.loc["slowest", "rate"] == pytest.approx(switches.loc["slowest", "limit"])
    random = switches.loc["random"]
    assert random["rate"].nunique() == len(random) == 3
    assert (random["rate"] > random["limit"]).all()


def test_the_rate_is_a_mean_over_time():
    apart = torch.tensor([1.0, -1.0], dtype=torch.float64)
    none = torch.eye(2, dtype=torch.float64)
    assert rate([TWO, none], [1.0, 3.0], apart) == pytest.approx(0.25)  # λ₂ = 1, then 0
