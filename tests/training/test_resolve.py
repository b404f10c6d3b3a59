import math
import sys

import pytest
from running import finished, start

from ngo.common.fields import at_least, whole
from ngo.common.registry import UserError
from ngo.data.dataset import DATASETS
from ngo.gossip.coupling import coupling
from ngo.gossip.local_rule import local_rule
from ngo.models.model import MODELS
from ngo.training.resolve import resolve
from ngo.training.spec import DEFAULTS, NEUTRAL


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
        ({"partition": "shard"}, "partition: 'shard'.*Did you mean 'shards'"),
        ({"topology": ["ring"]}, r"topology: \['ring'\] is unknown"),
        ({"p": 0.4}, "p: 0.4 is out of range; it must be a number, 0.5 to 1"),
        ({"p": "0.9"}, "p: '0.9' is not a number.*write 0.9"),
        ({"lr": "fast"}, "lr: 'fast' is not a number; it must be a number, above 0.$"),
        ({"lr": math.nan}, "lr: nan is not finite"),
        ({"lr": 0}, "lr: 0 is out of range; it must be a number, above 0"),
        ({"workers": 2.5}, "workers: 2.5 is not whole"),
        ({"workers": 0}, "workers: 0 is out of range"),
        ({"topology": "random", "u": 0}, "u: 0 is out of range; it must be a number, above 0"),
        ({"topology": "ring", "u": 0.4}, "u: 0.4 has no effect with topology 'ring'"),
        ({"method": "gossip", "p": 0.9}, r"p: 0.9 has no effect with method 'gossip' \(it is 1"),
        ({"method": "ngo", "local_steps": 5}, "local_steps is read with method .*local_sgd"),
        (
            {"method": "quasi_global", "local_rule": "momentum"},
            r"local_rule: 'momentum' has no effect with .*'quasi_global' \(it is 'sgd' there\)\.$",
        ),
        ({"method": "centralized", "absence": 0.1}, "absence: 0.1 has no effect with method 'cen"),
        (
            {"method": "dsgd", "order": "combine_then_adapt"},
            "order is read with method gossip, momentum_tracking, ngo",
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
        ({"seed": -1}, "seed: -1 is out of range"),
        ({"seed": 2**63}, "seed: 9223372036854775808 is too large .2.63 or more"),
        ({"lr": 10**400}, "lr: 1000.*… is too large"),
        ({"lr": list(range(1000))}, r"lr: \[0, 1, .*… is not a number; it must be a number, above"),
        ({"epochs": 1e12}, "epochs: 1000000000000.0 is out of range; .* to 1,000,000,000"),
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


def test_defaults_without_neutral_fields_give_the_same_run():
    """Configs that were written before a field was added keep their runs."""
    others = {name: value for name, value in DEFAULTS.items() if name not in NEUTRAL}
    assert resolve({}, others) == resolve({})
    assert resolve({"method": "centralized"}, others) == resolve({"method": "centralized"})


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


def test_a_coupling_that_does_not_read_p_leaves_it_out(own_entries):
    coupling("sign")(lambda z, weights, gamma, run: gamma * weights * z.sign())
    spec = resolve({"coupling": "sign"})
    assert spec.p is None
    assert spec.id.startswith("mnist-iid-ring-ngo-sign-s0-")
    with pytest.raises(UserError, match="p: 0.8 has no effect with coupling 'sign'; p is read"):
        resolve({"coupling": "sign", "p": 0.8})
    with pytest.raises(UserError, match="coupling: 'sign' has no effect with method 'gossip'"):
        resolve({"method": "gossip", "coupling": "sign"})


def test_a_method_with_a_rule_of_its_own_ignores_the_default_one():
    spec = resolve({"method": "quasi_global"}, {"local_rule": "momentum"})
    assert (spec.local_rule, spec.momentum) == ("sgd", None)
    assert spec == resolve({"method": "quasi_global"})


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
        "ngo.training.resolve",
        "ngo.training.earlier",
        "ngo.engine.backend",
        "ngo.gossip.topologies.varying",
        "ngo.gossip.methods.gossip",
    ],
)
def test_checking_a_run_imports_nothing_heavy(module):
    heavy = "{'torch', 'torchvision', 'pandas', 'scipy', 'matplotlib', 'networkx', 'pyarrow'}"
    code = f"import sys, {module}; print(sorted({heavy} & set(sys.modules)))"
    assert finished(start([sys.executable, "-c", code])).strip() == "[]"
