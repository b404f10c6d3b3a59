"""The figure of late messages in training."""

import pytest
from figure_files import drawn, executed, numbers
from made_up import line, panel
from made_up_graphs import delays, tuned_delays

from ngo.analysis.seed_means import part

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_both_couplings_stand_at_their_delays():
    figure, shown = drawn("delay", delays(), tuned_delays())
    accuracy = panel(figure, r"digits, shards, ring, same $\gamma$")
    assert line(accuracy, "gossip") == ([0, 1, 5], pytest.approx([40, 40, 40]))
    assert line(accuracy, "NGO") == ([0, 1, 5], pytest.approx([40, 42, 50]))
    assert line(panel(figure, "paired by seed"), "NGO")[1] == pytest.approx([0, 2, 10], abs=1e-9)
    assert set(shown["value"].dropna()) == {"accuracy", "V", "difference"}


def test_each_method_is_at_its_best_values_of_each_delay():
    figure, shown = drawn("delay", delays(), tuned_delays())
    chosen = part(shown, "chosen").set_index(["delay", "method"])
    assert chosen["gamma"].to_dict() == {
        (1, "gossip"): 0.4, (1, "ngo"): 0.2, (5, "gossip"): 0.1, (5, "ngo"): 0.1,
    }  # fmt: skip
    assert chosen["edge"].to_dict()[1, "gossip"] == "largest"
    assert chosen["edge"].isna()[1, "ngo"]
    best = panel(figure, r"digits, shards, ring, own best")
    assert line(best, "gossip") == ([1, 5], pytest.approx([60, 60]))
    words = executed("delay", delays(), tuned_delays())["notes"][0]
    assert "τ = 1, gossip: p = 1, γ = 0.4 (largest); τ = 1, NGO: p = 0.9, γ = 0.2;" in words


def test_the_difference_is_paired_by_seed_at_each_delay():
    found = part(numbers("delay", delays(), tuned_delays()), "same")
    V = found[found["value"] == "V"].set_index(["method", "delay"])["mean"]
    assert V["ngo", 5] == pytest.approx(6)
    late = numbers("delay", delays(lambda seed: seed == 1), tuned_delays())
    lost = part(late, "same").query("value == 'difference'")
    assert lost.set_index("delay")["diverged"].to_dict() == {0: 0, 1: 1, 5: 1}
