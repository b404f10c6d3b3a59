"""The design of each table: what a config plans for it."""

import copy

import pytest
from configs import config_of, plan_of, plan_of_tier

from ngo.pipeline.designs import designs

NETWORK = {"step": 1.0, "latency": 1.0, "bandwidth": 1.0}


def of(config):
    return designs(config, plan_of(config))


@pytest.fixture(scope="module")
def known():
    return of(config_of())


def changed(known, change):
    """The tables whose design is another after a change of the demo's config."""
    config = copy.deepcopy(config_of())
    change(config)
    found = of(config)
    assert found.keys() == known.keys()
    return {name for name in known if found[name] != known[name]}


def test_every_table_of_the_plan_has_a_design(known):
    assert set(known) == plan_of_tier().made
    assert all(len(each) == 64 for each in known.values())
    assert of(config_of()) == known


def fewer(config):
    config["universes"]["digits"]["count"] -= 1


def wider(config):
    config["universes"]["digits"]["values"]["gamma"]["to"] *= 2


def more_seeds(config):
    config["training"]["table1"]["seeds"] = 7


def other_grid(config):
    config["training"]["table1_tuned"]["compare"][-1]["gamma"] = [0.1]


def target(config):
    config["artefacts"]["figS3"]["target_accuracy"] = 0.9


def measured(config):
    config["theory"]["theory"]["repeats"] += 1


def drawn(config):
    config["partitions"]["figS2"]["seed"] = 9


def saved(config):
    config["training"]["fig2"]["snapshots"] = [1]


@pytest.mark.parametrize(
    ("change", "tables"),
    [
        (fewer, {"universes_digits", "runs"}),
        (wider, {"universes_digits", "runs"}),
        (more_seeds, {"table1", "runs"}),
        (other_grid, {"table1_tuned", "runs"}),
        (target, {"figS3"}),
        (measured, {"theory_theory"}),
        (drawn, {"classes_figS2"}),
        (saved, {"alignment_fig2"}),
        (lambda config: config.update(device="auto", threads=2), set()),
        (lambda config: config["resources"]["train"].update(runtime=7), set()),
    ],
)
def test_a_change_of_the_config_changes_the_designs_of_its_tables_alone(known, change, tables):
    assert changed(known, change) == tables


def test_what_is_of_all_runs_changes_the_designs_of_all_of_them(known):
    trained = {*plan_of_tier().training, "runs"}
    own_seeds = {name for name, each in config_of()["training"].items() if each and "seeds" in each}
    own_seeds.add("universes_digits")
    assert changed(known, lambda config: config.update(network={"slow": NETWORK})) == trained
    several = (trained - own_seeds) | {"alignment_fig2"}  # it measures models of fig2
    assert changed(known, lambda config: config.update(seeds=[50])) == several
    assert "universes_digits" in changed(known, lambda config: config.update(first_seed=50))


def test_added_seeds_count_in_no_design(known):
    config = config_of()
    config["training"]["added_1"] = {**config["training"]["table1"], "seeds": [90, 91]}
    assert of(config) == known


def test_a_table_has_the_same_design_in_a_part_of_the_campaign(known):
    only = ["table1", "figS3", "digits", "theory"]
    found = of({**config_of(), "only": only})
    del found["runs"]
    assert set(found) == {"table1", "figS3", "universes_digits", "theory_theory"}
    assert found.items() <= known.items()
