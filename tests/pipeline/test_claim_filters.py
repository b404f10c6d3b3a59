"""Typing errors in the filters and arguments of claims: one line before anything is trained."""

import pytest
import yaml
from cases import cases, refused
from shipped_plans import config_of, plan_of

from ngo.measures.measurement import MEASUREMENTS, measurement
from ngo.measures.spectra import SpectraOptions
from ngo.pipeline.claim_filters import check_filters
from verdicts import read_claims

SIDES = {"of": {"method": "ngo"}, "minus": {"method": "gossip"}}
CLAIM = {"place": "here", "says": "a", "kind": "order", "from": "table1", "above": 0}
CLAIM |= {"quantity": "difference", "with": SIDES}
GATE = {"take": "min", "above": 0, "else": "untrained", "column": "consensus_accuracy"}
ASKED = {key: value for key, value in GATE.items() if key != "else"}
UNIVERSES = {"universes": {"gate": {**ASKED, "where": {"methode": "x"}}}}
TERMS = {"terms": [{"weight": 1, "method": "nog"}]}
ROUNDS = {"from": "rounds_ring", "quantity": "settled_ratio"}
THEORY = {"from": "theory_theory", "quantity": "log_quotient"}


def check(tmp_path, gate=None, **changes):
    claim = {**CLAIM, **changes}
    gates = {}
    if gate is not None:
        gates, claim["gate"] = {"g": {**GATE, **gate}}, "g"
    path = tmp_path / "claims.yaml"
    path.write_text(yaml.safe_dump({"gates": gates, "claims": {"a": claim}}))
    check_filters(read_claims(path), ("table1", "samples_mine"))


@cases(
    "changes, message",
    ({"where": {"topology": "exponentiall"}}, "where.topology: 'exp.*mean 'exponential'"),
    ({"where": {"p": 1.5}}, "where.p: 1.5 is out of range; it must be a number, 0.5 to 1"),
    ({"where": {"V": "low"}}, "where.V: 'low' is not allowed; it must be a number"),
    (UNIVERSES, r"universes.gate.where: 'methode' is unknown; .*mean 'method'"),
    ({"with": {**SIDES, "of": {"methode": "ngo"}}}, "with.of: 'methode' .*mean 'method'"),
    ({"quantity": "contrast", "with": TERMS}, "with.terms.method: 'nog' is .*mean 'ngo'"),
    ({"from": "classes_figS2", "where": {"lr": 0.1}}, "where: 'lr' is unknown; allowed: beta"),
    ({**ROUNDS, "with": {"of": "NG0"}}, "with.of: 'NG0' is unknown; .*mean 'NGO'"),
    ({**THEORY, "with": {"of": "a", "to": "bb"}}, "with.to: 'bb' is unknown; allowed: .*V0"),
)
def test_a_typing_error_is_one_line_with_the_nearest_match(tmp_path, changes, message):
    refused(rf"^claims\.a\.{message}", check, tmp_path, **changes)


@cases(
    "gate, message",
    ({"where": {"methd": "ngo"}}, "where: 'methd' is unknown; .*mean 'method'"),
    ({"column": "consensus_acuracy"}, "column: .*mean 'consensus_accuracy'"),
    ({"from": "spectra_s", "column": "p"}, "column: 'p' is unknown; allowed: connected, "),
)
def test_a_typing_error_in_a_gate(tmp_path, gate, message):
    refused(rf"^gates\.g\.{message}", check, tmp_path, gate)


@cases(
    "changes",
    {"where": {"topology": "hypercube", "dataset": "tinyimagenet", "p": [0.5, None]}},
    {"where": {"workers": {"min": 16}, "diverged": False, "V": 0.5, "run": "x-1"}},
    {"where": {"topology": None, "u": 0.25, "seed": 99}},
    {"from": ["rounds_ring", "table1"], "where": {"disturbance": "none", "lr": 0.1}},
    {"from": "consensus_figS1", "where": {"p": 3}},  # its own range, beyond that of runs
)
def test_values_that_may_be_are_left_to_the_runs(tmp_path, changes):
    level = {"quantity": "level", "with": {"value": "V"}, **changes}
    check(tmp_path, **level)
    check(tmp_path, {"from": "table1", "where": {"topology": "star"}}, **level)


@pytest.mark.usefixtures("own_entries")
def test_a_plugins_measurement_is_checked_if_it_declares_its_columns(tmp_path):
    where = {"from": "mine_x", "where": {"dgree": 1}}
    measurement("mine", SpectraOptions)(lambda options: None)
    check(tmp_path, **where)
    del MEASUREMENTS["mine"]
    measurement("mine", SpectraOptions, columns=("degree",))(lambda options: None)
    refused(r"where: 'dgree' is unknown; .*mean 'degree'", check, tmp_path, **where)


def test_a_plan_refuses_them_before_training(tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text(yaml.safe_dump({"claims": {"a": {**CLAIM, "where": {"local_rul": "sgd"}}}}))
    plan = plan_of({**config_of(), "claims": str(path)})
    refused(r"claims\.a\.where: 'local_rul' is unknown", plan.tables, "claims")
