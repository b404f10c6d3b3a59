"""Throughput and speed-up."""

from made_up_speed import throughputs

from ngo.analysis.speedup import speedups


def test_medians_and_range_are_over_the_repeats():
    found = speedups(throughputs()).set_index(["method", "workers"])
    assert found.loc[("gossip", 4), ["median", "low", "high"]].tolist() == [80, 40, 120]
    assert found.loc["ngo", "base"].tolist() == [10, 10, 10]
    assert found.loc["gossip", "base"].tolist() == [20, 20, 20]
