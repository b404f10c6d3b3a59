"""The values of a run: what has no meaning is left out, and what can't be is told in one line."""

import random
import sys

import numpy as np
import pytest
from cases import cases, refused
from running import finished, start
from runs import CONVEX, digits_run

import ngo
from ngo.common.fields import at_least, whole
from ngo.common.registries import CLOCKS, DATASETS, METHODS, MODELS
from ngo.gossip.method import method
from ngo.gossip.step import local_rule
from ngo.gossip.topology import topology
from ngo.training.spec import FIELDS, RunSpec
from ngo.training.spec_checks import draw, resolve
from verdicts.registry import UserError

VAE = {"dataset": "cifar10", "model": "cifar10_vae", "task": "vae"}
DIRECTED = {"method": "push_sum", "topology": "directed_ring"}
IMPLICIT = {"coupling": "implicit"}
WAITING, LATE, LIES = {"clock": "waiting"}, {"clock": "asynchronous"}, {"attack": "alie"}
LATE_PAIRS = {**LATE, **IMPLICIT, "topology": "random_matching"}
PHASES = {"method": "gossip", "schedule": "phases"}
STAR = {**PHASES, "second_topology": "star"}
MATCHED = {"method": "ngo", "topology": "random_matching", **IMPLICIT}
REGULAR = {"workers": 6, "topology": "random_regular"}
EPIDEMIC = {"workers": 6, "method": "epidemic"}
#: Values of a run, and what is told of them.
REFUSED = [
    ({"topolgy": "ring"}, "field of a run: 'topolgy'.*Did you mean 'topology'"),
    ({"topology": "rng"}, "topology: 'rng' is unknown; allowed: .*complete, .*Did you mean 'ring'"),
    ({"p": 0.4}, "p: 0.4 is out of range; it must be a number, 0.5 to 1"),
    ({"p": "0.9"}, "p: '0.9' is not a number.*write 0.9"),
    ({"workers": 2.5}, "workers: 2.5 is not whole"),
    ({"topology": "ring", "u": 0.4}, "u: 0.4 has no effect with topology 'ring'"),
    ({"method": "gossip", "p": 0.9}, r"p: 0.9 has no effect with method 'gossip' \(it is 1"),
    ({"method": "ngo", "local_steps": 5}, "local_steps is read with method .*local_sgd"),
    (
        {"method": "quasi_global", "local_rule": "momentum"},
        r"'quasi_global' \(it is 'sgd' there\)\.$",
    ),
    ({**DIRECTED, "weights": "uniform"}, "weights: .* topology 'directed_ring', which is directed"),
    ({"link_failure": 1}, "link_failure: 1 is out of range; .*, 0 or more, below 1"),
    ({"lr_drop_factor": 0.2}, "no effect with lr_schedule 'constant'; .* lr_schedule step.$"),
    ({"seed": 2**63}, "seed: 9223372036854775808 is too large .2.63 or more"),
    ({"workers": 1}, "too few for method 'ngo'; it must be 2 or more .1 is .* centralized, diloco"),
    ({"workers": 60_001, "batch_size": 1}, "workers: 60001 is more than mnist's 60000"),
    ({"batch_size": 6001}, "batch_size: 6001 is larger than worker 0's share of 6000"),
    ({"partition": "shards", "workers": 151}, "are more than the 300 shards; at most 1"),
    ({"partition": "equal", "samples_per_worker": 6001}, "6001 for each of 10 .*; at most 6000"),
    ({"partition": "natural"}, "'natural' needs the owners of samples, which dataset 'mnist'"),
    ({"model": "cifar10_cnn"}, "model: 'cifar10_cnn' takes inputs of shape .*; it goes with"),
    ({"task": "vae"}, "model: 'mnist_cnn' serves task 'classification', not 'vae'"),
    ({**VAE, "batch_size": 1}, r"batch_size: 1 is too small .*_vae' \(batch normalization\)"),
    ({**CONVEX, "partition": "shards"}, "'shards' needs classes, which dataset 'least_squares'"),
    ({"method": "d2", "local_rule": "adam"}, "'adam' is not linear .* biased point; allowed: mom"),
    ({**IMPLICIT, "topology": "ring"}, "at most one neighbour .* 'ring' has more; .*: alternating"),
    ({**IMPLICIT, "topology": "base_graph", "peers": 2}, "'implicit' needs at most one neighbour"),
    ({"method": "relay_sum", "topology": "ring"}, "'ring' is no tree, with 10 edges on 10 workers"),
    (
        {"method": "relay_sum", "topology": "complete"},
        "with 45 edges.*needs one: 9 .*chain and sta",
    ),
    ({"speed": "constant"}, "speed: 'constant' has no effect with clock 'steps'"),
    (
        {"bandwidth": 9},
        "bandwidth: 9.0 has no .*'steps'; links is read with clock asynch",
    ),
    (
        {"graph": "none.txt"},
        "graph: 'none.txt' has no .*'ring'; graph is read with topology",
    ),
    ({**WAITING, "message_loss": 0.1}, "message_loss: 0.1 has no .*'waiting'; .* asynchronous"),
    ({**WAITING, "speed_spread": 1}, "speed_spread: 1.0 has no .* speed 'constant'; .*log_normal"),
    ({**LATE, "method": "d2"}, "'d2', whose workers have to wait.*ad_psgd"),
    ({**WAITING, "method": "ad_psgd"}, "'ad_psgd', whose workers never step together"),
    ({"method": "ad_psgd"}, "clock: 'steps' is not possible .*; it must be asynchronous"),
    ({**LATE, "absence": 0.1}, "absence: 0.1 is drawn for the steps that all"),
    ({**LATE, **LIES}, "attack: 'alie' is about the models of"),
    (LATE_PAIRS, "coupling: 'implicit' moves both ends"),
    ({**LATE, "speed": "speed_trace"}, "speed_file: it is missing"),
    ({"attack": "sign"}, "attack: 'sign' is unknown; .*Did you mean 'sign_flip'"),
    ({"liars": 2}, "liars: 2 has no effect with attack 'none'; liars is read with attack alie"),
    ({**LIES, "lie_noise": 2}, "lie_noise: 2.0 has no effect with attack 'alie'"),
    ({**LIES, "liars": 9}, "liars: 9 of 10 workers leave fewer than two"),
    ({**LIES, "liars": 0}, "liars: 0 is out of range; .*, 1 or more"),
    ({**LIES, "method": "choco"}, "'alie' has no effect .*'choco'; attack is read with .*ngo"),
    (PHASES, "schedule: 'phases' changes nothing"),
    ({**PHASES, "second_gamma": 0}, "second_gamma: 0 is out of range"),
    ({**PHASES, "third_gamma": 0.1}, "third_gamma: there is no third phase"),
    ({**PHASES, "third_phase": 0.2, "second_gamma": 1}, "third_phase: 0.2 .*second phase begins"),
    ({**PHASES, "second_v_threshold": 1}, "second_v_threshold: 1.0 has .* with .*gossip_until"),
    ({**PHASES, "second_topology": "rign"}, "second_topology: 'rign' is unknown; .* mean 'ring'"),
    ({**PHASES, "second_topology": "directed_ring"}, "topology: 'directed_ring' is directed"),
    ({**STAR, "method": "choco"}, "schedule: .* changes the graph to 'star', and .* builds on"),
    ({**STAR, **MATCHED}, "coupling: 'implicit' needs at most one .* topology 'star'"),
    ({"second_gamma": 1}, "second_gamma: 1.0 has no .*schedule 'constant'; .* schedule phases"),
    ({**PHASES, "method": "centralized", "second_gamma": 1}, "schedule: 'phases' has no effect"),
    ({**REGULAR, "degree": 1}, "degree: 1 is not allowed; of 6 workers"),
    ({**REGULAR, "degree": 6}, "degree: 6 is not allowed; of 6 workers"),
    ({"workers": 6, "topology": "small_world", "near": 3}, "near: 3 is not allowed; of 6 workers"),
    ({"workers": 6, "topology": "small_world", "near": 6}, "near: 6 is not allowed; of 6 workers"),
    ({**EPIDEMIC, "topology": "epidemic_out", "receivers": 6}, "receivers: 6 .*; .* it must be 5"),
    ({**EPIDEMIC, "topology": "epidemic_regular", "degree": 6}, "degree: 6 .* must be below 6"),
    ({"topology": "hypercube"}, "workers: 10 .*needs a power of 2; 8 and 16 are"),
    ({"topology": "one_peer_hypercube"}, "workers: 10 .*needs a power of 2; 8 and 16"),
    ({"topology": "torus", "workers": 2}, "workers: 2 .*; 4 is possible"),
    ({"topology": "torus", "workers": 7}, "workers: 7 .*; 8 is possible"),
]


def test_fields_appear_where_they_have_a_meaning():
    centralized = resolve({"method": "centralized"})
    assert (centralized.topology, centralized.p, centralized.gamma) == (None, None, None)
    assert (centralized.coupling, centralized.local_rule) == (None, "sgd")
    gossip = resolve({"method": "gossip"}, {"p": 0.7, "u": 0.1})
    assert (gossip.p, gossip.u, gossip.local_steps) == (1.0, None, 1)
    assert gossip.id == resolve({"method": "gossip"}, {"p": 0.9}).id
    assert resolve({"topology": "random"}).u == 0.4
    assert resolve({"partition": "dirichlet"}).shards is None
    assert CLOCKS["steps"].fields == ()
    assert set(CLOCKS["asynchronous"].fields) - set(CLOCKS["waiting"].fields) == {"message_loss"}
    spec = resolve({"clock": "waiting", "speed": "log_normal"})
    assert dict(spec.own)["speed_spread"] == 0.5
    assert "message_loss" not in spec.values()
    assert RunSpec.of(spec.values()) == spec
    assert FIELDS["latency"].owners == ("links",)


@pytest.mark.parametrize(("values", "message"), REFUSED)
def test_mistakes_are_told_in_one_line(values, message):
    refused(message, resolve, values)


@cases(
    "values, p",
    *(({"method": name}, 0.95) for name in ("ngo", "delayed")),
    *(({"method": name}, 1.0) for name in ("d2", "gradient_tracking", "choco", "local_sgd")),
    ({"method": "d2", "coupling": "capped"}, 0.95),
    ({"method": "d2", "p": 0.75}, 0.75),
)
def test_methods_gossip_linearly_by_default_but_those_about_phi(values, p):
    assert resolve(values).p == p
    assert resolve(values, {"gamma": 0.5}).p == p
    assert resolve({"gamma": 0.5}, values).p == p
    assert resolve(values, {"p": 0.6}).p == values.get("p", 0.6)


def test_own_data_sets_and_models_need_no_registry_and_declared_settings_have_defaults(own_entries):
    steps = whole("steps of warm-up", 10, at_least(1))
    local_rule("ramp", options={"ramp_steps": steps})(lambda step: None)
    before = {name: field.default for name, field in FIELDS.items() if name != "ramp_steps"}
    assert resolve({"local_rule": "ramp"}, before).ramp_steps == 10
    assert resolve({}, {**before, "ramp_steps": 3}).ramp_steps is None
    for values, message in (
        ({"ramp_steps": 3}, "ramp_steps: 3 has no effect with local_rule 'sgd'; ramp_steps is read "
         "with local_rule ramp"),
        ({"local_rule": "ramp", "ramp_steps": 0}, "ramp_steps: 0 is out of range"),
        ({"local_rule": "ramp", "ramp_stesp": 1}, "'ramp_stesp' .*Did you mean 'ramp_steps'"),
    ):  # fmt: skip
        refused(message, resolve, values)
    values = {"dataset": "mine", "model": "net", "workers": 2}
    source, model = DATASETS["digits"], MODELS["mnist_cnn"]
    refused("dataset: 'mine' is unknown", resolve, values)
    refused("model: 'net' is unknown", resolve, values, source=source)
    spec = resolve(values, source=source, model=model)
    assert (spec.dataset, spec.model) == ("mine", "net")


def test_registries_and_checks_of_runs_import_nothing_heavy():
    light = "ngo.cli.cli, ngo.pipeline.plan, ngo.training.spec_checks, ngo.training.run_folder, "
    light += "ngo.engine.backends, ngo.gossip.topologies.varying, ngo.gossip.methods.gossip, "
    light += "ngo.models.model, ngo.models.task, ngo.measures.measurement, ngo.measures.theory"
    heavy = "{'torch', 'torchvision', 'pandas', 'scipy', 'matplotlib', 'networkx', 'pyarrow'}"
    code = f"import sys, {light}; print(sorted({heavy} & set(sys.modules)))"
    assert finished(start([sys.executable, "-c", code])).strip() == "[]"


@cases(
    "declared, message",
    ({"fields": ("topolgy",)}, "field of method 'mine': 'topolgy' .* mean 'topology'"),
    ({"graph": "fixd"}, "graph of method 'mine': 'fixd' is unknown; allowed: any, fixed, tree"),
    ({"sends": ("2d",)}, "sends of method 'mine': '2d' is unknown; allowed: "),
)
def test_a_method_that_declares_an_unknown_name_is_refused(own_entries, declared, message):
    ngo.method("mine", **declared)(lambda step: None)
    refused(message, resolve, {"method": "mine"})


def test_a_directed_topology_needs_a_method_that_allows_it(own_entries):
    topology("circle", directed=True)(lambda n: [(i, (i + 1) % n) for i in range(n)])
    able = ", ".join(sorted(name for name, entry in METHODS.items() if entry.directed))
    message = f"'circle' is directed, and method 'ngo' needs symmetric weights; .*graphs: {able}.$"
    refused(message, resolve, {"topology": "circle", "method": "ngo"})
    assert resolve({"method": "centralized"}).topology is None
    method("push", fields=("topology",), directed=True)(lambda step: None)
    for name in ("circle", "ring"):
        assert resolve({"topology": name, "method": "push"}).topology == name


@pytest.mark.parametrize("graph", [{"topology": "base_graph", "peers": 1}, {"workers": 2}])
def test_an_implicit_coupling_takes_a_matching(graph):
    assert resolve({**IMPLICIT, **graph}).coupling == "implicit"


@pytest.mark.parametrize("name", ["link_failure", "absence"])
def test_a_method_that_needs_every_message_says_why(own_entries, name):
    method("remembering", fields=("topology",), needs_every_message="adds up messages")(print)
    with pytest.raises(UserError, match=f"{name}: .*'remembering', which adds up .*it must be 0."):
        resolve({"method": "remembering", name: 0.25})
    assert resolve({"method": "remembering", name: 0}).id
    assert getattr(resolve({"method": "d2", name: 0.25}), name) == 0.25


def test_traces_are_read_when_a_run_is_checked(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("nothing\n")
    for kind, name in (("speed", "speed"), ("links", "link"), ("churn", "churn")):
        with pytest.raises(UserError, match=f"{name}_file: .* the first line of .* must be time,"):
            digits_run(clock="asynchronous", **{kind: f"{name}_trace", f"{name}_file": str(path)})


@cases(
    "values, told",
    (lambda share, run: {"gamma": random.random()}, "'own' gives other values when it is asked"),
    (
        lambda share, run: {"gamma": 0.5 - share},
        "'own' has gamma -0.01.* after a share 0.51 of the",
    ),
    (lambda share, run: {"gamma": "big"}, "'own' has gamma 'big' after a share 0 of the steps"),
    (lambda share, run: None, "'own' returned NoneType; it must be a mapping"),
)
def test_a_schedule_with_wrong_values_or_others_each_time_is_refused(values, told, own_entries):
    ngo.schedule("own")(values)
    refused(f"schedule: {told}", digits_run, method="gossip", schedule="own")
    resolve({"method": "gossip", "dataset": "digits"})


def test_a_learning_rate_that_is_drawn_or_negative_is_refused(own_entries):
    for rate, told in ((lambda share, run: random.random(), "gives"), (lambda *_: -1.0, "has fac")):
        ngo.lr_schedule("own")(rate)
        refused(f"lr_schedule: 'own' {told}", digits_run, lr_schedule="own")


def test_a_partition_that_is_drawn_from_elsewhere_is_refused(own_entries):
    @ngo.partition("own")
    def own(labels, n, *, generator):
        return np.array_split(np.random.permutation(len(labels)), n)

    told = "partition: 'own' gives other samples when it is asked again; draw from its argument"
    refused(told, draw, digits_run(partition="own"), np.zeros(100, int))
