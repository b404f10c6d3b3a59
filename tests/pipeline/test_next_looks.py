"""The next look at an undecided claim: its runs, what they take, and why there may be none."""

import math

import pytest
import undecided_tier
import yaml
from undecided_tier import CLAIMS, SIDES, TRAINING, make, tier, with_overlay

from ngo.pipeline.config_files import read_config
from ngo.pipeline.decide import decisions, read_tables_of
from verdicts.ledger import judged


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def decided(folder, claims, hours=100.0, **changes):
    configs, planned = tier(folder, claims, **changes)
    tables = read_tables_of(planned, folder / "results/test/metrics")
    config = read_config(configs)
    return decisions(config, planned, tables, folder / "results", hours=hours)


def test_a_tuned_claim_adds_the_values_that_the_first_seeds_chose(folder):
    (look,) = decided(folder, {"tuned": CLAIMS["tuned"]}).chosen
    shared = {"topology": "ring", "holdout": 0.1}
    assert look.entries == {
        "added_tuned": {
            "settings": ["tiny"],
            "seeds": [7, 8, 9, 10],
            "compare": [
                {"method": "gossip", "gamma": 0.4, **shared},
                {"method": "ngo", "gamma": 1.0, "p": 0.9, **shared},
            ],
        }
    }
    assert (look.seeds, look.look, len(look.costs)) == (4, 8, 8)
    assert sum(look.costs.values()) == 4 * (60 + 120)


def test_a_quantity_that_puts_no_runs_side_by_side_adds_all_of_its_rows(folder):
    slope = {"quantity": "slope_on_V", "where": {"method": "ngo"}}
    (look,) = decided(folder, {"slope": slope}).chosen
    compare = look.entries["added_slope"]["compare"]
    assert {case["gamma"] for case in compare} == {0.1, 0.4, 1.0}
    assert len(look.costs) == 3 * 4


def test_the_chance_is_that_of_the_look_and_says_what_a_decision_takes(folder):
    claims = {"a": CLAIMS["at-one"]}
    (look,) = decided(folder, claims).chosen
    assert 0.1 < look.chance < 0.8
    assert look.to_decide == math.inf
    (longer,) = decided(folder, claims, looks=(4, 8, 16, 32)).chosen
    assert longer.to_decide == pytest.approx((32 - 4) * (60 + 120))
    (smaller,) = decided(folder, {name: CLAIMS["at-one"] for name in "ab"} | claims).chosen[:1]
    assert smaller.chance == look.chance  # each is its own family
    family = {name: {**CLAIMS["at-one"], "family": "f"} for name in "ab"}
    assert decided(folder, family).chosen[0].chance < look.chance


def test_claims_in_several_settings_share_an_experiment(folder):
    tiny = {"dataset": "digits", "model": "mnist_cnn", "partition": "iid", "epochs": 0.2,
            "eval_every": 0.1, "batch_size": 16, "workers": 3}  # fmt: skip
    other = {**tiny, "partition": "shards", "shards": 6, "epochs": 0.4}
    training = {"own": {**TRAINING["own"], "settings": ["tiny", "other"]}}
    claim = {**CLAIMS["at-one"], "with": {**SIDES, "over": ["partition"]}}
    found = decided(
        folder, {"a": claim}, training=training, settings={"tiny": tiny, "other": other}
    )
    (entry,) = found.overlay["training"].values()
    assert (len(entry["settings"]), len(entry["compare"])) == (1, 4)
    (folder / "decide-test.yaml").write_text(yaml.safe_dump(found.overlay))
    _, planned = with_overlay(folder, [folder / "config.yaml"])
    own = {spec.id.rpartition("-")[0].replace("-s3", "-s7") for spec in planned.training["own"]}
    added = [spec for spec in planned.training["added_a"] if spec.seed == 7]
    assert {spec.id.rpartition("-")[0] for spec in added} <= own
    assert {spec.epochs for spec in added} == {0.2, 0.4}


def test_a_pooled_claim_adds_seeds_to_its_members(folder):
    claims = {
        "one": CLAIMS["at-one"],
        "two": {**CLAIMS["at-one"], "where": {"gamma": 0.4}},
        "all": {"quantity": "pooled", "with": {"claims": ["one", "two"]}},
    }
    found = decided(folder, claims)
    (pooled,) = [look for look in found.chosen if look.claim == "all"]
    assert set(pooled.entries) == {"added_one", "added_two"}
    configs = [folder / "config.yaml"]
    (folder / "decide-test.yaml").write_text(yaml.safe_dump(found.overlay))
    make(folder, (planned := with_overlay(folder, configs)[1]))
    tables = read_tables_of(planned, folder / "results/test/metrics")
    assert [row.looks for row in judged(planned.ledger, tables)] == [2, 2, 2]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"looks": None}, "its file has no looks for it"),
        ({"looks": [4]}, "all 1 looks are taken, with 4 seeds"),
        (
            {
                "quantity": "level",
                "with": {"value": "step"},
                "where": {"method": "gossip", "gamma": 1.0},
            },
            "all 4 seeds have the same value, and a test of signs takes 6",
        ),
    ],
)
def test_reasons_why_more_seeds_do_not_help(folder, change, reason):
    found = decided(folder, {"a": {**CLAIMS["at-one"], **change}})
    assert found.chosen == found.left == []
    assert found.reasons == {"a": reason}


def test_a_claim_over_universes_has_no_looks(folder):
    over = {**CLAIMS["at-one"], "universes": {}}
    configs, planned = tier(folder, {"over": over, "a": CLAIMS["at-one"]})
    tables = read_tables_of(planned, folder / "results/test/metrics")
    sampled = {name: table.assign(universe=table["seed"]) for name, table in tables.items()}
    row = judged(planned.ledger, sampled)[0]
    assert (row.verdict, row.multiverse.count, row.looks, row.seeds) == ("undecided", 4, None, "")
    found = decisions(read_config(configs), planned, sampled, folder / "results", hours=100.0)
    assert found.reasons == {"over": "it is judged over universes"}
    assert [look.claim for look in found.chosen] == ["a"]


CELLS = {"quantity": "difference", "with": SIDES, "every_cell": True}


def test_a_claim_whose_cells_differ_and_are_decided_gets_no_seeds(folder):
    # NGO is better for sure at γ = 0.1, and there are no runs at 0.7.
    cells = {"low": {"gamma": 0.1}, "none": {"gamma": 0.7}}
    found = decided(folder, {"a": {**CELLS, "cells": cells}})
    assert found.chosen == found.left == []
    assert found.reasons == {"a": "of 2 cells: holds in 1, not run in 1"}


def test_cells_that_an_earlier_look_had_take_their_time_too(folder, monkeypatch):
    claims = {"a": {**CELLS, "cells": {"mid": {"gamma": 0.4}, "high": {"gamma": 1.0}}}}
    first = decided(folder, claims)
    (folder / "decide-test.yaml").write_text(yaml.safe_dump(first.overlay))
    config, planned = with_overlay(folder, [folder / "config.yaml"])
    row = undecided_tier._row

    def better_in_one(spec):
        lead = 0.4 * (spec.method == "ngo" and spec.gamma == 0.4)
        return {**row(spec), "consensus_accuracy": row(spec)["consensus_accuracy"] + lead}

    monkeypatch.setattr(undecided_tier, "_row", better_in_one)
    make(folder, planned)
    tables = read_tables_of(planned, folder / "results/test/metrics")
    cells = {row.cell: row.verdict for row in judged(planned.ledger, tables) if row.cell}
    assert cells == {"mid": "holds", "high": "undecided"}
    results = folder / "results"
    found = decisions(config, planned, tables, results, hours=9, earlier=first.overlay)
    (folder / "decide-test.yaml").write_text(yaml.safe_dump(found.overlay))
    _, later = with_overlay(folder, [folder / "config.yaml"])
    (look,) = found.chosen
    assert set(look.costs) == {*later.runs} - {*planned.runs}
    assert sum(look.costs.values()) == 8 * 2 * (60 + 120)
