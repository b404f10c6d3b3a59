import pytest
from ngo.common.fingerprint import reached
from ngo.training.code import run_fingerprint

from ngo.training import code
from ngo.training.resolve import resolve

COUPLING = {
    "ngo.gossip.gossip_step:gossip_step",
    "ngo.gossip.couplings.power:power",
    "ngo.gossip.phi:power_",
    "ngo.gossip.steps.along_edges:step_along_edges",
    "ngo.native.gossip_step:gossip",
}


@pytest.fixture
def code_of(monkeypatch):
    """A function: the definitions that decide the result of a run."""
    monkeypatch.setattr(code, "fingerprint", reached)
    return lambda **values: run_fingerprint(resolve(values))


def test_a_fingerprint_is_16_hex_digits():
    found = run_fingerprint(resolve({}))
    assert len(found) == 16
    assert int(found, 16) >= 0
    assert run_fingerprint(resolve({"lr": 0.1})) == found  # values are no code


def test_a_run_depends_on_the_entries_that_it_names(code_of):
    found = code_of(topology="ring", partition="shards", backend="loop")
    assert {
        "ngo.training.stepper:Stepper",
        "ngo.training.loop:Training",
        "ngo.engine.population:Population",
        "ngo.gossip.methods.gossip:gossip",
        "ngo.gossip.local_rules.sgd:sgd",
        "ngo.gossip.topologies.ring:ring",
        "ngo.engine.backends.each_worker:loop",
    } <= found
    for other in (
        "methods.delayed", "methods.local_sgd", "topologies.complete", "topologies.random",
    ):  # fmt: skip
        assert not any(name.startswith(f"ngo.gossip.{other}:") for name in found)
    assert not any(name.startswith("ngo.engine.backends.vmap:") for name in found)
    assert any(name.startswith("ngo.engine.backends.vmap:") for name in code_of(backend="auto"))


@pytest.mark.parametrize("method", ["ngo", "gossip", "local_sgd", "delayed", "gossip_until"])
def test_the_coupling_decides_decentralized_runs(code_of, method):
    assert code_of(method=method) >= COUPLING


def test_the_coupling_decides_no_centralized_run(code_of):
    assert not code_of(method="centralized") & COUPLING


def test_files_and_records_are_no_part_of_it(code_of):
    modules = {name.partition(":")[0] for name in code_of()}
    assert not modules & {"ngo.training.record", "ngo.training.run", "ngo.cli.cli"}
