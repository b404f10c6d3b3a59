import pytest

from ngo.bench import network_traffic
from ngo.gossip.compression import COMPRESSIONS
from ngo.gossip.method import METHODS
from ngo.gossip.traffic import sent
from ngo.training.resolve import resolve

RUNS = network_traffic.runs()


def test_each_method_and_compression_that_states_what_it_sends_has_a_row():
    methods = {
        name
        for name, entry in METHODS.items()
        if entry.sends and entry.decentralized and entry.arrivals != "pair"
    }
    assert {row.partition(",")[0] for row in RUNS} == methods
    compressions = {fields.get("compression", "none") for fields in RUNS.values()}
    assert compressions == set(COMPRESSIONS)


@pytest.mark.parametrize("row", RUNS)
def test_each_row_is_a_run_that_states_its_messages(row):
    assert sent(resolve({**network_traffic.COMMON, "workers": 4, **RUNS[row]}), 100)


def test_bytes_that_differ_miss_the_target(monkeypatch):
    """A row of 10 numbers is sent twice; the processes send one message more."""

    def record(values, *options):
        crossed = {"evaluations": [{"bytes_sent": 0}, {"bytes_sent": 44}]}
        final = {"messages": 2, "bytes_sent": 40}
        return {"parameters": 10, "final": final, "distributed": crossed}

    monkeypatch.setattr(network_traffic, "_record", record)
    found = network_traffic.traffic(3)
    sends = {row["method"]: row["sends"] for row in found.rows}
    assert (sends["gossip"], sends["d2"]) == ("40", "40")
    assert [target.value for target in found.targets] == [pytest.approx(0.1)] * len(RUNS)
    assert not any(target.met for target in found.targets)
