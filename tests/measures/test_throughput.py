import pytest

from ngo.measures.throughput import ThroughputOptions, throughput_table
from ngo.training.resolve import resolve

pytestmark = pytest.mark.filterwarnings("error")


def test_throughput_counts_all_workers_samples_in_turns(tmp_path):
    made = []

    def make_run(**values):
        made.append(values["workers"])
        sine = {"dataset": "sine", "model": "toy_net", "task": "regression"}
        return resolve({**sine, "method": values["method"]})

    methods = ("centralized", "gossip", "ngo")
    options = ThroughputOptions(method=methods, workers=(1, 3), steps=2, repeats=2)
    table = throughput_table(options, make_run, tmp_path)
    assert made == [3, 3, 3]
    cases = [("centralized", 1), ("centralized", 3), ("gossip", 1), ("gossip", 3), ("ngo", 1)]
    cases.append(("ngo", 3))
    assert list(zip(table["method"], table["workers"], strict=True)) == 2 * cases
    assert table["repeat"].tolist() == [0] * 6 + [1] * 6
    trained = 2 * table["workers"] * 32
    assert (table["samples_per_second"] * table["seconds"]).tolist() == pytest.approx(
        trained.tolist()
    )
    assert (table["seconds"] > 0).all()
