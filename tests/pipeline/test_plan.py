from itertools import product
from pathlib import Path

import pytest
import yaml
from cases import cases
from shipped_plans import OF_UNIVERSES, TIERS, config_of, of_a_tier, plan_of, plan_of_tier, tiers

from ngo.pipeline.config import read_config
from verdicts.quantities import QUANTITIES, Quantity
from verdicts.registry import UserError

OTHERS = [paths for paths in tiers() if paths[-1].stem not in ("config", *TIERS)]


@pytest.mark.parametrize("tier", TIERS)
def test_table1_has_every_cell_of_the_paper_for_each_seed(tier):
    config, plan = config_of(tier), plan_of_tier(tier)
    assert plan.tier == tier
    runs = plan.training["table1"]
    cells = {(r.dataset, r.partition == "iid", r.topology, r.method, r.seed) for r in runs}
    seeds = {"demo": {"digits": 2}, "laptop": {"mnist": 20, "cifar10": 10}}
    seeds["paper"] = dict.fromkeys(("mnist", "cifar10", "tinyimagenet"), 10)
    first = config.get("first_seed", 0)
    methods = [(None, "centralized"), *product(("ring", "random", "complete"), ("gossip", "ngo"))]
    expected = set()
    for name, count in seeds[tier].items():
        for iid, method, seed in product((True, False), methods, range(first, first + count)):
            expected.add((name, iid, *method, seed))
    assert cells == expected
    assert len(runs) == len(cells) == len({r.id for r in runs})


@pytest.mark.parametrize("tier", TIERS)
def test_every_artefact_has_its_data(tier):
    plan = plan_of_tier(tier)
    assert set(plan.artefacts) - OF_UNIVERSES == of_a_tier().keys()
    assert set(plan.artefacts) >= (OF_UNIVERSES if plan.universes else set())
    for name, entry in plan.artefacts.items():
        for table in (read for read in entry.reads.values() if "*" not in read):
            kind, _, of = table.partition("_")
            planned = {**plan.measures, "classes": plan.partitions}
            assert table in plan.training or of in planned[kind], (name, table)


def test_runs_of_a_seed_share_their_partition():
    """What differs in the method alone has the same data on each worker."""
    shared = {}
    for spec in plan_of_tier().runs.values():
        shared.setdefault(tuple(spec.partition_fields.items()), set()).add(spec.partition_id)
    assert all(len(ids) == 1 for ids in shared.values())
    table1 = plan_of_tier().training["table1"]
    tasks = {(spec.dataset, spec.partition, spec.seed) for spec in table1}
    assert len({spec.partition_id for spec in table1}) == len(tasks)


def test_models_are_kept_where_an_experiment_asks_for_them():
    config = config_of()
    plan = plan_of(config)
    (figA1,) = plan.training["figA1"]
    assert plan.snapshots[figA1.id] == [2, 54]
    config["training"]["again"] = {**config["training"]["figA1"], "snapshots": ["final", 3, 2]}
    assert plan_of(config).snapshots[figA1.id] == [2, 3, 54, "final"]
    assert not any(run in plan.snapshots for run in (r.id for r in plan.training["table1_tuned"]))


@pytest.mark.parametrize("paths", OTHERS, ids=lambda paths: paths[-1].stem)
def test_every_other_tier_is_valid(paths):
    assert plan_of(read_config(paths)).runs


def claims_file(path, **changes):
    """A file with one claim, and the config that names it and leaves Figure 5 out."""
    claim = {"place": "Table 1", "says": "NGO learns", "kind": "bound", "from": ["table1", "fig5"],
             "quantity": "own_level", "above": 0, **changes}  # fmt: skip
    (path / "own.yaml").write_text(yaml.safe_dump({"claims": {"a": claim}}))
    config = config_of("demo")
    training = {**config["training"], "fig5": None}
    return {**config, "training": training, "claims": str(path / "own.yaml")}


@pytest.fixture
def own_level(monkeypatch):
    quantity = Quantity("own_level", lambda rows: rows, cases=False)
    monkeypatch.setitem(QUANTITIES, "own_level", quantity)


@pytest.mark.usefixtures("own_level")
def test_the_table_of_claims_reads_the_tables_that_its_file_names(tmp_path):
    named = ["table1", "spectra_tableS1", "classes_figS2", "runs", "fig5"]
    plan = plan_of(claims_file(tmp_path, **{"from": named}))
    made = ["classes_figS2", "runs", "spectra_tableS1", "table1"]
    assert plan.tables("claims") == made
    both = {"metrics": [f"results/demo/metrics/{name}.parquet" for name in made]}
    both["claims"] = str(tmp_path / "own.yaml")
    assert plan.inputs("claims") == {**both, "published": []}
    assert plan.parameters("claims") == {**both, "network": {}, "out": "results/demo"}
    metrics, reference = plan.inputs("tableS1").values()
    assert metrics == "results/demo/metrics/spectra_tableS1.parquet"
    assert reference == "config/reference/tableS1_spectral_gap.csv"
    codes = plan_of_tier("laptop").inputs("tableS2")["codes"]  # those that a pattern names
    assert [Path(file).stem for file in codes] == ["tableS2_codes", "tableS2_codes_likeliest"]
    published = plan_of_tier().inputs("claims")["published"]
    assert "config/reference/tableA2_cifar10_loss.csv" in published


@pytest.mark.usefixtures("own_level")
def test_a_claim_names_figures_and_experiments_of_its_config(tmp_path):
    for key in ("shows", "from"):
        plan = plan_of(claims_file(tmp_path, **{key: "tabel1"}))
        with pytest.raises(UserError, match=rf"claims\.a\.{key}: 'tabel1' is unknown; .*'table1'"):
            _ = plan.ledger
    assert plan_of(claims_file(tmp_path, shows="table1")).ledger.tables == ("fig5", "table1")


def test_a_measurement_has_the_commands_defaults_of_what_is_not_stated():
    config = config_of("demo")
    spectra = config["spectra"]
    config["spectra"] = {**spectra, "mine": {"topology": ["ring"]}}
    planned = plan_of(config).measures["spectra"]["mine"]
    expected = {"topology": ["ring"], "workers": [4, 16, 36, 64], "u": 0.4, "draws": 200, "seed": 0}
    assert planned == expected  # the optional decay stays out
    config["spectra"] = {**spectra, "mine": {**planned, "workers": [4]}}
    assert plan_of(config).measures["spectra"]["mine"] == {**planned, "workers": [4]}


@cases(
    "fact, value, message",
    ("reads", "tabel1", r"figures\.fig4\.reads: 'tabel1' is unknown; .*Did you mean 'table1'"),
    ("apart", ["topologi"], r"figures\.fig4\.apart: 'topologi' is unknown.*'topology'"),
)
def test_a_figure_of_an_unknown_table_or_field_is_refused_in_a_line(fact, value, message):
    config = config_of("demo")
    config["figures"]["fig4"][fact] = value
    with pytest.raises(UserError, match=message):
        plan_of(config)
