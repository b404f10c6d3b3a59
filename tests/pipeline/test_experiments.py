"""The runs of experiments: grids of values, and samples of universes."""

from collections import Counter

import pytest
from cases import cases, mistake_of, refused
from shipped_plans import changed, config_of, plan_of

from ngo.pipeline.experiments import sample
from ngo.training.spec_checks import resolve

VALUES = {"lr": {"from": 0.01, "to": 1, "log": True}, "p": {"from": 0.6, "to": 0.9}}
VALUES |= {"batch_size": [8, 16], "workers": {"from": 4, "to": 10}}
VALUES |= {"local_rule": ["sgd", "momentum"], "weights": ["metropolis", "uniform"]}
CASES = [{"method": ["centralized", "gossip", "ngo"]}]
ENTRY = {"settings": ["digits_noniid"], "compare": CASES, "count": 6, "sobol_seed": 0}
ENTRY["values"] = VALUES


def test_a_run_in_two_experiments_exists_once_and_seeds_are_counted():
    config = config_of()
    before = plan_of(config).runs
    more = {"settings": ["digits_iid"], "compare": [{"method": "ngo", "p": [0.8, 0.95]}]}
    config["training"]["again"] = more
    plan = plan_of(config)
    assert len(plan.runs) == len(before) + 2  # p = 0.8, two seeds
    assert len(plan.training["again"]) == 4
    config = config_of()
    one = {"settings": ["digits_iid"], "compare": [{"method": "ngo"}]}
    config |= {"seeds": 2, "first_seed": 100}
    config["training"] |= {"shared": one, "listed": {**one, "seeds": [7, 3]}}
    config["training"]["own"] = {**one, "seeds": {"digits_iid": 3}}
    seeds = {name: [run.seed for run in runs] for name, runs in plan_of(config).training.items()}
    assert seeds["shared"] == [100, 101]
    assert seeds["own"] == [100, 101, 102]
    assert seeds["listed"] == [7, 3]
    del config["first_seed"]
    assert [run.seed for run in plan_of(config).training["shared"]] == [0, 1]


def test_a_grid_of_too_many_runs_is_refused_before_it_is_expanded():
    p, gamma = [0.5 + k / 10_000 for k in range(2_000)], [k / 10_000 for k in range(1, 3_001)]
    grid = {"compare": [{"method": "ngo", "p": p, "gamma": gamma}]}
    seeds = {"seeds": 10**6, "compare": [{"method": "ngo"}]}
    for entry, runs in ((grid, "12,000,000"), (seeds, "1,000,000")):
        config = config_of()
        config["training"]["sweep"] = {"settings": ["digits_iid"], **entry}
        told = mistake_of(plan_of, config)
        assert told == f"training.sweep: its grid has {runs} runs; the limit is 100,000."


@pytest.mark.parametrize("method", ["d2", "ngo"])
def test_a_users_own_experiment_has_the_methods_own_defaults_and_not_the_papers(method):
    """As in ``fit``: γ = 1, and p = 1 but for NGO. The base says nothing else to all settings."""
    own = {"dataset": "digits", "partition": "iid", "epochs": 10, "batch_size": 16, "lr": 0.2}
    base = config_of("paper")
    base["settings"]["small"] = own
    compare = [{"method": method, "topology": "ring"}]
    base["training"]["myexp"] = {"settings": ["small"], "compare": compare, "seeds": [0]}
    (spec,) = plan_of({**base, "only": ["myexp"]}).training["myexp"]
    assert spec == resolve({"method": method, **own})
    assert (spec.gamma, spec.p) == (1, 0.95 if method == "ngo" else 1)


def own(**values):
    return sample("universes.own", {**ENTRY, **values})


def plan_with(**values):
    """The plan of the demo with one entry ``own``."""
    config = config_of()
    config["universes"] = {"own": {**ENTRY, **values}}
    return plan_of(config)


def test_fewer_universes_are_the_first_of_more_and_values_cover_their_ranges():
    large = own(count=50)
    assert own(count=7) == large[:7]
    assert own(count=1) == large[:1]
    assert own(count=50, sobol_seed=1) != large
    assert len({tuple(values.items()) for values in large}) == 50
    found = own(count=64)
    assert all(values.keys() == VALUES.keys() for values in found)
    assert found == own(count=64, values=dict(reversed(VALUES.items())))  # in any order
    for name, ends in (("lr", (0.01, 1)), ("p", (0.6, 0.9)), ("workers", (4, 10))):
        of = [values[name] for values in found]
        assert ends[0] <= min(of) <= max(of) <= ends[1]
    assert sum(values["lr"] < 0.1 for values in found) == 32  # half of them, on a log scale
    assert sum(values["p"] < 0.75 for values in found) in range(30, 35)
    assert {type(values["workers"]) for values in found} == {int}
    assert Counter(values["batch_size"] for values in found) == {8: 32, 16: 32}
    assert all(values["lr"] == float(f"{values['lr']:.3g}") for values in found)


def test_the_runs_of_a_universe_are_paired():
    plan = plan_with(seeds=2)
    assert [universe.number for universe in plan.universes["universes_own"]] == list(range(6))
    runs = plan.runs
    for universe in plan.universes["universes_own"]:
        specs = [runs[run] for run in universe.runs]
        assert Counter(spec.method for spec in specs) == {"centralized": 2, "gossip": 2, "ngo": 2}
        assert {spec.seed for spec in specs} == {2 * universe.number, 2 * universe.number + 1}
        for name in ("lr", "batch_size", "workers", "local_rule"):
            assert {getattr(spec, name) for spec in specs} == {universe.values[name]}
        one, two, *others = (spec for spec in specs if spec.method != "centralized")
        assert {spec.weights for spec in (one, two, *others)} == {universe.values["weights"]}
        assert {spec.p for spec in specs} == {None, 1.0, universe.values["p"]}
        assert len({spec.partition_id for spec in specs}) == 2


def test_a_number_may_be_scaled_by_a_choice():
    plan = plan_with(scale={"lr": {"local_rule": {"momentum": 0.1}}})
    rules = set()
    for universe in plan.universes["universes_own"]:
        rate, rule = universe.values["lr"], universe.values["local_rule"]
        factor = {"sgd": 1, "momentum": 0.1}[rule]
        assert plan.runs[universe.runs[0]].lr == pytest.approx(factor * rate, rel=1e-3)
        rules.add(rule)
    assert rules == {"sgd", "momentum"}


def test_a_value_that_no_run_reads_has_no_column():
    """The partition has no samples_per_worker, all gossip states γ, and the server reads no p."""
    ranges = {"gamma": {"from": 0.1, "to": 1}, "p": {"from": 0.6, "to": 0.9}}
    values = {**ranges, "lr": [0.1, 0.2], "samples_per_worker": [40, 60]}
    cases = [{"method": "centralized"}, {"method": "gossip", "gamma": [0.2, 0.4]}]
    plan = plan_with(values=values, compare=cases)
    more = plan_with(values=values, compare=[*cases, {"method": "ngo"}])
    for made, names in ((plan, ["lr"]), (more, ["gamma", "p", "lr"])):
        assert all(list(one.values) == names for one in made.universes["universes_own"])


@cases(
    "path, value, message",
    ("settings", ["digit_iid"], "universes.digits.settings: 'digit_iid' is unknown"),
    ("count", 0, "universes.digits.count: 0 is not allowed; it must be .*1 or more"),
    ("values", {}, "universes.digits.values: {} is not allowed"),
    ("values.seed", [0, 1], "universes.digits.values: 'seed' is unknown"),
    ("values.lr", {"from": 0.3, "to": 0.1}, "values.lr: from 0.3 must be below to 0.1"),
    ("values.lr", {"from": 0, "to": 0.1}, "universes.digits.values: lr: 0 is out of range"),
    ("values.weights", {"from": 0, "to": 1}, "values.weights: .* is a range; weights takes a"),
    ("values.weight_decay", {"from": 0, "to": 1, "log": True}, "weight_decay.log: it needs a"),
    ("values.accuracy_of", ["all"], "values.accuracy_of: 'all' is unknown; allowed: mean"),
    ("scale", {"momentum": {}}, "universes.digits.scale: 'momentum' is unknown; allowed: .*lr"),
    ("scale", {"lr": {"weights": {"a": 1}}}, "scale.lr.weights: 'a' is unknown;.*uniform"),
    ("values.batch_size", [16, 400], r"universe \d.compare\[0\]: batch_size: 400 is larger th"),
)  # fmt: skip
def test_a_mistake_in_universes_is_one_line(path, value, message):
    refused(message, plan_of, changed(f"universes.digits.{path}", value))
