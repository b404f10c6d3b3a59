import pytest

from ngo.common.registry import UserError
from ngo.gossip.method import method
from ngo.gossip.topology import topology
from ngo.training.checks import check_share, check_snapshots
from ngo.training.resolve import resolve


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"workers": 1}, "workers: 1 is too few for protocol 'ngo'; it must be 2 or more"),
        ({"workers": 60_001, "batch_size": 1}, "workers: 60001 is more than mnist's 60000"),
        ({"batch_size": 6001}, "batch_size: 6001 is larger than a worker's share of 6000"),
        ({"partition": "shards", "batch_size": 401}, "a worker's share of 400"),
        ({"partition": "shards", "workers": 151}, "are 302 shards, but there are 300; at most 1"),
        ({"partition": "shards", "shards": 60_001}, "shards: 60001 is more than mnist's 60000"),
        (
            {"partition": "equal", "samples_per_worker": 6001},
            "samples_per_worker: 6001 for each of 10 workers are 60010, .* at most 6000 each",
        ),
        ({"model": "cifar10_cnn"}, "model: 'cifar10_cnn' takes inputs of shape .*; it goes with"),
        ({"task": "vae"}, "model: 'mnist_cnn' serves task 'classification', not 'vae'"),
        (
            {"dataset": "cifar10", "model": "cifar10_vae", "task": "vae", "batch_size": 1},
            r"batch_size: 1 is too small for model 'cifar10_vae' \(batch normalization\)",
        ),
        (
            {
                "dataset": "least_squares", "model": "linear", "task": "regression",
                "partition": "shards",
            },
            "partition: 'shards' needs classes, which dataset 'least_squares' lacks",
        ),
        (
            {"epochs": 1e8, "eval_every": 1e7},
            r"epochs: 1e\+08 are 1.88e\+10 steps; it must be 5.33e\+06 or less, for at most 1,000,",
        ),
        (
            {"eval_every": 1e-9},
            "eval_every: 1e-09 asks for 2e.10 evaluations; it must be 0.0002 or more, for at most "
            "100,000",
        ),
        ({"epochs": 1e-9, "eval_every": 1e-9}, "eval_every: 1e-09 asks for 5.33e.06 evaluations"),
    ],
)  # fmt: skip
def test_values_that_do_not_go_together_are_told_in_one_line(values, message):
    with pytest.raises(UserError, match=message) as error:
        resolve(values)
    assert "\n" not in str(error.value)


def test_a_directed_topology_needs_a_method_that_allows_it(own_entries):
    topology("circle", directed=True)(lambda n: [(i, (i + 1) % n) for i in range(n)])
    for protocol in ("ngo", "gossip", "local_sgd", "delayed", "gossip_until"):
        with pytest.raises(UserError) as error:
            resolve({"topology": "circle", "protocol": protocol})
        assert str(error.value) == (
            f"topology: 'circle' is directed, and protocol {protocol!r} needs symmetric weights; "
            f"protocols for directed graphs: push_sum."
        )
    assert resolve({"protocol": "centralized"}).topology is None
    method("push_it", fields=("topology",), directed=True)(lambda step: None)
    assert resolve({"topology": "circle", "protocol": "push_it"}).topology == "circle"
    assert resolve({"topology": "ring", "protocol": "push_it"}).topology == "ring"
    with pytest.raises(UserError, match="protocols for directed graphs: push_it, push_sum"):
        resolve({"topology": "circle"})


@pytest.mark.parametrize("rule", ["adam", "adamw"])
@pytest.mark.parametrize("protocol", ["d2", "exact_diffusion"])
def test_a_correction_that_needs_a_linear_rule_says_so(protocol, rule):
    with pytest.raises(UserError) as error:
        resolve({"protocol": protocol, "local_rule": rule})
    assert str(error.value) == (
        f"local_rule: {rule!r} is not linear in the gradients, and protocol {protocol!r} is biased "
        f"without that; allowed: momentum, nesterov, sgd."
    )


@pytest.mark.parametrize("name", ["link_failure", "absence"])
def test_a_method_that_needs_every_message_says_why(own_entries, name):
    method("remembering", fields=("topology",), needs_every_message="adds up messages")(print)
    with pytest.raises(UserError) as error:
        resolve({"protocol": "remembering", name: 0.25})
    assert str(error.value) == (
        f"{name}: 0.25 is not possible with protocol 'remembering', which adds up messages; it "
        f"must be 0."
    )
    for protocol in ("delayed", "gossip_until"):
        with pytest.raises(UserError, match=f"{name}: 0.25 is not possible with prot.*must be 0"):
            resolve({"protocol": protocol, name: 0.25})
    assert resolve({"protocol": "remembering", name: 0}).id
    assert getattr(resolve({"protocol": "d2", name: 0.25}), name) == 0.25


def test_a_topology_reads_known_fields_only(own_entries):
    topology("wide")(lambda n, width: [(i, (i + width) % n) for i in range(n)])
    message = "topology: 'wide' takes an argument 'width', which is not a field of a run; declare"
    with pytest.raises(UserError, match=message):
        resolve({"topology": "wide"})
    topology("seeded")(lambda n, seed: [(0, 1 + seed % (n - 1))])
    assert resolve({"topology": "seeded"}).topology == "seeded"


def test_shares_and_snapshots():
    spec = resolve({"batch_size": 32})
    check_share(spec, 32)
    with pytest.raises(UserError, match="batch_size: 32 is larger than a worker's share of 31 sam"):
        check_share(spec, 31)
    last = spec.steps(1000)
    check_snapshots(spec, [0, last, "final"], 1000)
    with pytest.raises(UserError, match=f"snapshots: step {last + 1} is after the last step of"):
        check_snapshots(spec, [last + 1], 1000)
