"""The values of a run: what has no meaning is left out, and what can't be is told in one line."""

import sys

import pytest
from running import finished, start
from runs import digits_run

import ngo
from ngo.common.fields import at_least, whole
from ngo.data.dataset import DATASETS
from ngo.gossip.method import METHODS, method
from ngo.gossip.step import local_rule
from ngo.gossip.topology import topology
from ngo.models.model import MODELS
from ngo.training.clocks import CLOCKS
from ngo.training.spec import DEFAULTS, FIELDS, RunSpec
from ngo.training.spec_checks import resolve
from verdicts.registry import UserError


def test_values_without_a_meaning_are_left_out():
    centralized = resolve({"method": "centralized"})
    assert (centralized.topology, centralized.p, centralized.gamma) == (None, None, None)
    assert (centralized.coupling, centralized.local_rule) == (None, "sgd")
    gossip = resolve({"method": "gossip"}, {"p": 0.7, "u": 0.1})
    assert (gossip.p, gossip.u, gossip.local_steps) == (1.0, None, 1)
    assert gossip.id == resolve({"method": "gossip"}, {"p": 0.9}).id
    assert resolve({"topology": "random"}).u == 0.4
    assert resolve({"partition": "dirichlet"}).shards is None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"topolgy": "ring"}, "field of a run: 'topolgy'.*Did you mean 'topology'"),
        (
            {"topology": "rng"},
            "topology: 'rng' is unknown; allowed: .*complete, .*Did you mean 'ring'",
        ),
        ({"p": 0.4}, "p: 0.4 is out of range; it must be a number, 0.5 to 1"),
        ({"p": "0.9"}, "p: '0.9' is not a number.*write 0.9"),
        ({"workers": 2.5}, "workers: 2.5 is not whole"),
        ({"topology": "ring", "u": 0.4}, "u: 0.4 has no effect with topology 'ring'"),
        ({"method": "gossip", "p": 0.9}, r"p: 0.9 has no effect with method 'gossip' \(it is 1"),
        ({"method": "ngo", "local_steps": 5}, "local_steps is read with method .*local_sgd"),
        (
            {"method": "quasi_global", "local_rule": "momentum"},
            r"local_rule: 'momentum' has no effect with .*'quasi_global' \(it is 'sgd' there\)\.$",
        ),
        (
            {"method": "push_sum", "topology": "directed_ring", "weights": "uniform"},
            "weights: 'uniform' has no effect with topology 'directed_ring', which is directed; ",
        ),
        ({"link_failure": 1}, "link_failure: 1 is out of range; .*, 0 or more, below 1"),
        (
            {"lr_drop_factor": 0.2},
            "lr_drop_factor: 0.2 has no effect with lr_schedule 'constant'; .* lr_schedule step.$",
        ),
        ({"seed": 2**63}, "seed: 9223372036854775808 is too large .2.63 or more"),
    ],
)
def test_mistakes_are_told_in_one_line(values, message):
    with pytest.raises(UserError, match=message) as error:
        resolve(values)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("values", "p"),
    [
        *(({"method": name}, 0.95) for name in ("ngo", "delayed")),
        *(({"method": name}, 1.0) for name in ("d2", "gradient_tracking", "choco", "local_sgd")),
        ({"method": "d2", "coupling": "capped"}, 0.95),
        ({"method": "d2", "p": 0.75}, 0.75),
    ],
)
def test_methods_gossip_linearly_by_default_but_those_about_phi(values, p):
    assert resolve(values).p == p
    assert resolve(values, {"gamma": 0.5}).p == p
    assert resolve({"gamma": 0.5}, values).p == p
    assert resolve(values, {"p": 0.6}).p == values.get("p", 0.6)


def test_a_declared_setting_has_a_default_and_is_checked(own_entries):
    steps = whole("steps of warm-up", 10, at_least(1))
    local_rule("ramp", options={"ramp_steps": steps})(lambda step: None)
    before = {name: value for name, value in DEFAULTS.items() if name != "ramp_steps"}
    assert resolve({"local_rule": "ramp"}, before).ramp_steps == 10
    assert resolve({}, {**DEFAULTS, "ramp_steps": 3}).ramp_steps is None
    for values, message in (
        ({"ramp_steps": 3}, "ramp_steps: 3 has no effect with local_rule 'sgd'; ramp_steps is read "
         "with local_rule ramp"),
        ({"local_rule": "ramp", "ramp_steps": 0}, "ramp_steps: 0 is out of range"),
        ({"local_rule": "ramp", "ramp_stesp": 1}, "'ramp_stesp' .*Did you mean 'ramp_steps'"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=message) as error:
            resolve(values)
        assert "\n" not in str(error.value)


def test_a_data_set_and_a_model_of_ones_own_need_no_registry():
    values = {"dataset": "mine", "model": "net", "workers": 2}
    source, model = DATASETS["digits"], MODELS["mnist_cnn"]
    with pytest.raises(UserError, match="dataset: 'mine' is unknown"):
        resolve(values)
    with pytest.raises(UserError, match="model: 'net' is unknown"):
        resolve(values, source=source)
    spec = resolve(values, source=source, model=model)
    assert (spec.dataset, spec.model) == ("mine", "net")


@pytest.mark.parametrize(
    "module",
    [
        "ngo.cli.cli",
        "ngo.pipeline.plan",
        "ngo.training.spec_checks",
        "ngo.training.run_folder",
        "ngo.engine.backends",
        "ngo.gossip.topologies.varying",
        "ngo.gossip.methods.gossip",
    ],
)
def test_checking_a_run_imports_nothing_heavy(module):
    heavy = "{'torch', 'torchvision', 'pandas', 'scipy', 'matplotlib', 'networkx', 'pyarrow'}"
    code = f"import sys, {module}; print(sorted({heavy} & set(sys.modules)))"
    assert finished(start([sys.executable, "-c", code])).strip() == "[]"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"workers": 1},
            "workers: 1 is too few for method 'ngo'; it must be 2 or more .1 is allowed with "
            "method centralized, diloco.*",
        ),
        ({"workers": 60_001, "batch_size": 1}, "workers: 60001 is more than mnist's 60000"),
        ({"batch_size": 6001}, "batch_size: 6001 is larger than worker 0's share of 6000"),
        ({"partition": "shards", "workers": 151}, "are more than the 300 shards; at most 1"),
        (
            {"partition": "equal", "samples_per_worker": 6001},
            "samples_per_worker: 6001 for each of 10 workers is more than .*; at most 6000",
        ),
        ({"partition": "natural"}, "'natural' needs the owners of samples, which dataset 'mnist'"),
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
    ],
)  # fmt: skip
def test_values_that_do_not_go_together_are_told_in_one_line(values, message):
    with pytest.raises(UserError, match=message) as error:
        resolve(values)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"fields": ("topolgy",)}, "field of method 'mine': 'topolgy' .* mean 'topology'"),
        ({"graph": "fixd"}, "graph of method 'mine': 'fixd' is unknown; allowed: any, fixed, tree"),
        ({"sends": ("2d",)}, "sends of method 'mine': '2d' is unknown; allowed: "),
    ],
)
def test_a_method_that_declares_an_unknown_name_is_refused(own_entries, declared, message):
    ngo.method("mine", **declared)(lambda step: None)
    with pytest.raises(UserError, match=message) as error:
        resolve({"method": "mine"})
    assert "\n" not in str(error.value)


def directed_methods():
    return sorted(name for name, entry in METHODS.items() if entry.directed)


def test_a_directed_topology_needs_a_method_that_allows_it(own_entries):
    topology("circle", directed=True)(lambda n: [(i, (i + 1) % n) for i in range(n)])
    with pytest.raises(UserError) as error:
        resolve({"topology": "circle", "method": "ngo"})
    assert str(error.value) == (
        f"topology: 'circle' is directed, and method 'ngo' needs symmetric weights; methods for "
        f"directed graphs: {', '.join(directed_methods())}."
    )
    assert resolve({"method": "centralized"}).topology is None
    method("push", fields=("topology",), directed=True)(lambda step: None)
    assert resolve({"topology": "circle", "method": "push"}).topology == "circle"
    assert resolve({"topology": "ring", "method": "push"}).topology == "ring"


def test_an_implicit_coupling_needs_a_matching():
    implicit = {"coupling": "implicit"}
    for values in (
        {"topology": "random_matching"},
        {"topology": "base_graph", "peers": 1},
        {"topology": "ring", "workers": 2},
    ):
        assert resolve({**implicit, **values}).coupling == "implicit"
    for values in ({"topology": "ring"}, {"topology": "base_graph", "peers": 2}):
        with pytest.raises(UserError) as error:
            resolve({**implicit, **values})
        assert str(error.value) == (
            "coupling: 'implicit' needs at most one neighbour of each worker in a step, and "
            f"topology {values['topology']!r} has more; topologies that can: alternating_matching, "
            "one_peer_hypercube, ou_equi_dyn, random_matching."
        )


def test_a_correction_that_needs_a_linear_rule_says_so():
    with pytest.raises(UserError) as error:
        resolve({"method": "d2", "local_rule": "adam"})
    assert str(error.value) == (
        "local_rule: 'adam' is not linear in the gradients, and with it method 'd2' would end at a "
        "biased point; allowed: momentum, nesterov, sgd."
    )


@pytest.mark.parametrize("name", ["link_failure", "absence"])
def test_a_method_that_needs_every_message_says_why(own_entries, name):
    method("remembering", fields=("topology",), needs_every_message="adds up messages")(print)
    with pytest.raises(UserError) as error:
        resolve({"method": "remembering", name: 0.25})
    assert str(error.value) == (
        f"{name}: 0.25 is not possible with method 'remembering', which adds up messages; it "
        f"must be 0."
    )
    assert resolve({"method": "remembering", name: 0}).id
    assert getattr(resolve({"method": "d2", name: 0.25}), name) == 0.25


def test_fields_appear_where_they_have_a_meaning():
    assert CLOCKS["steps"].fields == ()
    assert set(CLOCKS["asynchronous"].fields) - set(CLOCKS["waiting"].fields) == {"message_loss"}
    spec = resolve({"clock": "waiting", "speed": "log_normal"})
    assert dict(spec.own)["speed_spread"] == 0.5
    assert "message_loss" not in spec.values()
    assert RunSpec.of(spec.values()) == spec
    assert FIELDS["latency"].owners == ("links",)


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"speed": "constant"}, "speed: 'constant' has no effect with clock 'steps'"),
        (
            {"clock": "waiting", "message_loss": 0.1},
            "message_loss: 0.1 has no effect with clock 'waiting'; .* with clock asynchronous",
        ),
        (
            {"clock": "waiting", "speed_spread": 1},
            "speed_spread: 1.0 has no effect with speed 'constant'; .*log_normal",
        ),
        ({"clock": "asynchronous", "method": "d2"}, "'d2', whose workers have to wait.*ad_psgd"),
        ({"clock": "waiting", "method": "ad_psgd"}, "'ad_psgd', whose workers never step together"),
        ({"method": "ad_psgd"}, "clock: 'steps' is not possible .*; it must be asynchronous"),
        ({"clock": "asynchronous", "absence": 0.1}, "absence: 0.1 is drawn for the steps that all"),
        (
            {"clock": "asynchronous", "attack": "alie"},
            "attack: 'alie' is a lie about the models of",
        ),
        (
            {"clock": "asynchronous", "coupling": "implicit", "topology": "random_matching"},
            "coupling: 'implicit' moves both ends",
        ),
        ({"clock": "asynchronous", "speed": "speed_trace"}, "speed_file: it is missing"),
    ],
)
def test_what_does_not_go_together_with_a_clock_is_told_in_one_line(given, wrong):
    with pytest.raises(UserError, match=wrong) as error:
        resolve(given)
    assert "\n" not in str(error.value)


def test_traces_are_read_when_a_run_is_checked(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("nothing\n")
    for kind, name in (("speed", "speed"), ("links", "link"), ("churn", "churn")):
        with pytest.raises(UserError, match=f"{name}_file: .*its first line must be time,"):
            digits_run(clock="asynchronous", **{kind: f"{name}_trace", f"{name}_file": str(path)})
