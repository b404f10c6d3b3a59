"""The fields of a run, its id, and the options that entries declare."""

import inspect
import json
import re
import sys
from dataclasses import fields

import networkx as nx
import pytest
from cases import refused
from running import finished, start

from ngo.cli.train_command import train
from ngo.common import plugins
from ngo.common.fields import RESERVED, at_least, number, whole
from ngo.common.registries import BACKENDS
from ngo.gossip.coupling import coupling
from ngo.gossip.schedule import schedule
from ngo.gossip.step import local_rule
from ngo.gossip.topology import topology
from ngo.training import results_version as module
from ngo.training.evaluation import Evaluation
from ngo.training.fit import fit
from ngo.training.results_version import results_version
from ngo.training.spec import FIELDS, NEUTRAL, RunSpec, digest, flag
from ngo.training.spec_checks import resolve
from verdicts.registry import UserError

pytestmark = pytest.mark.usefixtures("own_entries")
PLUGIN = """
from ngo import topology

@topology("own")
def own(n):
    return [(k, k + 1) for k in range(n - 1)]
"""


def test_ids_are_readable_and_unique_by_value():
    spec = resolve({}, {"partition": "shards"})
    assert spec.id.startswith("mnist-shards-ring-ngo-p0.95-s0-")
    assert len(spec.id.rsplit("-", 1)[1]) == 8
    others = [
        {"p": 0.8}, {"gamma": 0.2}, {"lr": 0.01}, {"seed": 1}, {"epochs": 3}, {"batch_size": 8},
        {"topology": "complete"}, {"method": "gossip"}, {"workers": 5}, {"shards": 200},
        {"eval_every": 2}, {"partition": "iid"}, {"method": "centralized"},
    ]  # fmt: skip
    ids = {resolve({}, {"partition": "shards", **other}).id for other in others}
    assert len(ids | {spec.id}) == len(others) + 1
    assert resolve({"epochs": 20, "gamma": 1}).id == resolve({"epochs": 20.0, "gamma": 1.0}).id
    assert resolve({"seed": 0}).id == resolve({}).id


def test_ids_do_not_change_by_fields_added_later_and_share_a_partitions():
    known = {"local_rule": "sgd", "coupling": "power", "eval_images": 0, "absence": 0.0}
    assert known.items() <= NEUTRAL.items()
    for name in ("ngo", "gossip", "centralized"):
        spec = resolve({"method": name})
        old = {k: v for k, v in spec.values().items() if k not in NEUTRAL}
        old["protocol"] = old.pop("method")  # the former name
        assert spec.id.endswith(digest(old))
    assert resolve({"gamma": 0.1, "p": 0.9}).id == "mnist-iid-ring-ngo-p0.9-s0-5d332fd0"
    assert resolve({"method": "centralized", "lr": 0.2}).id == "mnist-iid-centralized-s0-b05ee806"
    one = resolve({"method": "centralized", "lr": 0.2})
    assert one.partition_id == resolve({"topology": "complete", "batch_size": 8}).partition_id
    assert resolve({"seed": 1}).partition_id != one.partition_id


def from_flags(words):
    """The values that command line options give, as their fields' types."""
    names = {flag(name): name for name in FIELDS}
    pairs = zip(words[::2], words[1::2], strict=True)
    return {names[option]: FIELDS[names[option]].kind(word) for option, word in pairs}


def test_flags_give_the_run_again():
    for values in (
        {"method": "centralized"},
        {"method": "gossip", "topology": "random"},
        {"method": "local_sgd", "local_steps": 5, "p": 0.75, "lr": 1e-05},
        {"partition": "dirichlet", "beta": 0.3},
    ):
        spec = resolve(values)
        assert resolve(from_flags(spec.flags())) == spec


@pytest.fixture
def own_options():
    """A local rule with an option ``mass``, and a coupling with an option ``limit``."""
    mass = number("share of the momentum", 0.9, at_least(0))
    cap = whole("largest pull", 5, at_least(1))
    local_rule("heavy", options={"mass": mass})(lambda step: None)
    coupling("limited", fields=("p",), options={"limit": cap})(lambda z, weights, gamma, run: z)


def test_a_declared_option_is_a_field_of_its_runs_only(own_options):
    about = FIELDS["mass"]
    assert (about.help, about.owners) == ("share of the momentum", ("local_rule",))
    assert FIELDS["limit"].default == 5
    assert {"mass", "limit"} <= set(FIELDS)
    plain, own = resolve({}), resolve({"local_rule": "heavy", "coupling": "limited", "limit": 7})
    assert (own.mass, own.limit, own.own) == (0.9, 7, (("limit", 7), ("mass", 0.9)))
    assert own.values()["mass"] == 0.9
    assert (plain.mass, plain.own) == (None, ())
    assert not {"mass", "limit"} & plain.values().keys()
    assert not {"--mass", "--limit"} & set(plain.flags())
    flags = own.flags()
    assert flags[flags.index("--mass") + 1] == "0.9"
    assert resolve(from_flags(flags)) == own
    assert RunSpec.of(json.loads(json.dumps(own.values()))) == own


def test_declared_options_are_in_the_id_of_their_runs_only(own_options):
    plain = resolve({})
    heavy = resolve({"local_rule": "heavy"})
    heavier = resolve({"local_rule": "heavy", "mass": 0.99})
    assert heavy.id.startswith("mnist-iid-ring-ngo-heavy-p0.95-s0-")
    assert resolve({"coupling": "limited"}).id.startswith("mnist-iid-ring-ngo-limited-p0.95-s0-")
    assert len({plain.id, heavy.id, heavier.id}) == 3
    assert heavy.partition_id == plain.partition_id
    code = "from ngo.training.spec_checks import resolve; print(resolve({}).id)"
    assert finished(start([sys.executable, "-c", code])).strip() == resolve({}).id


def test_entries_of_one_kind_may_share_an_option_and_others_may_not():
    mass = number("share of the momentum", 0.9, at_least(0))
    for name in ("heavy", "heavier", "heavy"):
        local_rule(name, options={"mass": mass})(print)
    assert resolve({"local_rule": "heavier"}).mass == 0.9
    with pytest.raises(UserError, match="field of a run: 'mass' is registered already"):
        coupling("heavy", options={"mass": mass})(print)
    another = number("another", 0.5, at_least(0))
    with pytest.raises(UserError, match="field of a run: 'mass' is registered already"):
        local_rule("other", options={"mass": another})(print)


@pytest.mark.parametrize(
    ("name", "reason"),
    [("run", "a name that the package uses; ch"), ("my-rate", "not allowed; use lower-case let")],
)
def test_an_option_has_a_name_of_its_own_that_a_command_can_have(name, reason):
    rate = number("another rate", 0.5, at_least(0))
    refused(f"^option: '{name}' is {reason}", local_rule("other", options={name: rate}), print)


def test_every_option_and_argument_has_a_reserved_name():
    known = {name for each in train.params for name in (each.name, *each.opts)}
    names = {name.lstrip("-").replace("-", "_") for name in known}
    arguments = set(inspect.signature(fit).parameters) - {"train", "test", "fields"}
    assert names | arguments | {field.name for field in fields(Evaluation)} <= RESERVED


def of(**values):
    return results_version(resolve(values))


def test_most_runs_have_the_number_of_all(monkeypatch):
    assert of() == of(method="diloco") == of(clock="waiting", attack="sign_flip") == "1"
    monkeypatch.setattr(module, "RESULTS_VERSION", 2)
    assert of() == of(method="diloco") == "2"
    monkeypatch.setitem(BACKENDS.versions, "vmap", 4)
    assert (of(), of(backend="vmap"), of(backend="loop")) == ("2 backend.vmap=4",) * 2 + ("2",)


def test_the_number_of_an_entry_is_that_of_the_runs_that_name_it():
    def path(n):
        return [(k, k + 1) for k in range(n - 1)]

    topology("own", version=2)(path)
    topology("again")(path)

    assert of(topology="own") == "1 topology.own=2"
    assert of(topology="again") == of() == "1"

    @schedule("own", version=3)
    def values(share, run):
        return {}

    assert of(topology="own", schedule="own") == "1 schedule.own=3 topology.own=2"
    assert of(topology="ring", schedule="own") == "1 schedule.own=3"


def test_the_bytes_of_a_plugin_and_a_graph_are_those_of_the_runs_that_use_them(tmp_path):
    path = tmp_path / "versioned.py"
    path.write_text(PLUGIN)
    plugins.load([path])
    first = of(topology="own")
    assert re.fullmatch("1 files=[0-9a-f]{8}", first)
    assert of() == "1"
    path.write_text(PLUGIN + "# changed\n")
    assert re.fullmatch("1 files=[0-9a-f]{8}", of(topology="own"))
    assert of(topology="own") != first
    assert of() == "1"
    path, found = tmp_path / "graph.gml", set()
    for graph in (nx.path_graph(4), nx.cycle_graph(4)):
        nx.write_gml(graph, path)
        found.add(of(topology="graph_file", graph=str(path), workers=4))
        assert of(workers=4) == "1"
    assert len(found) == 2
    assert all(re.fullmatch("1 files=[0-9a-f]{8}", each) for each in found)
