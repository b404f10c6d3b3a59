"""Which looks at undecided claims are taken in some hours."""

import pytest
import yaml
from recorded_runs import write
from undecided_tier import CLAIMS, make, tier, with_overlay

from ngo.pipeline.config_files import read_config
from ngo.pipeline.decide import decisions, read_tables_of
from verdicts.ledger import judged


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def decided(folder, configs, planned, hours=1.0, **more):
    config = read_config(configs)
    tables = read_tables_of(planned, folder / "results/test/metrics")
    return decisions(config, planned, tables, folder / "results", hours=hours, **more)


def test_looks_are_taken_as_long_as_they_fit_the_cheapest_first(folder):
    claims = {
        "both": CLAIMS["at-one"],
        "one": {"quantity": "level", "above": 50, "where": {"method": "ngo", "gamma": 0.4}},
    }
    configs, planned = tier(folder, claims)
    found = decided(folder, configs, planned, hours=0.5)
    assert [look.claim for look in found.chosen] == ["one", "both"]
    assert [sum(look.costs.values()) for look in found.chosen] == [4 * 120, 4 * (60 + 120)]
    found = decided(folder, configs, planned, hours=0.14)
    assert ([each.claim for each in found.chosen], [each.claim for each in found.left]) == (
        ["one"], ["both"]
    )  # fmt: skip
    assert [*found.overlay["training"]] == ["added_one"]
    assert decided(folder, configs, planned, hours=0.07, jobs=2).chosen == found.chosen
    assert decided(folder, configs, planned, hours=0.0).overlay == {}


def test_finished_runs_cost_nothing_and_an_interrupted_tier_gets_the_same_seeds(folder):
    configs, planned = tier(folder)
    first = decided(folder, configs, planned)
    (folder / "decide-test.yaml").write_text(yaml.safe_dump(first.overlay))
    config, later = with_overlay(folder, configs)
    for spec in later.training["added_tuned"][:3]:
        write(folder / "results", spec, seconds=1.0, code="c")
    tables = read_tables_of(later, folder / "results/test/metrics")
    assert "added_tuned" not in tables
    again = decisions(config, later, tables, folder / "results", hours=1, earlier=first.overlay)
    assert again.overlay == first.overlay
    before, after = (
        next(look for look in found.chosen if look.claim == "tuned") for found in (first, again)
    )
    assert len(before.costs) - len(after.costs) == 3


def test_the_judge_reads_added_seeds_at_the_values_that_the_first_chose(folder):
    configs, planned = tier(folder)
    (folder / "decide-test.yaml").write_text(
        yaml.safe_dump(decided(folder, configs, planned).overlay)
    )
    _, later = with_overlay(folder, configs)
    make(folder, later)
    tables = read_tables_of(later, folder / "results/test/metrics")
    found = {(row.claim, row.cell): row for row in judged(later.ledger, tables)}
    assert [(found[name, ""].pairs, found[name, ""].looks) for name in ("tuned", "decided")] == [
        (8, 2), (4, 1)
    ]  # fmt: skip
    # A claim about each cell takes seeds for the undecided cell alone.
    assert (found["every", "high"].pairs, found["every", "low"].pairs) == (8, 4)
    assert (found["marked", ""].pairs, found["unplanned", ""].pairs) == (4, 4)
    # Added seeds have no figure of their own.
    assert not any(name.startswith("added") for name in later.artefacts)
    assert "added_tuned" in later.tables("claims")


def test_a_list_of_experiments_has_the_added_ones_too(folder):
    configs, planned = tier(folder, only=["own"])
    overlay = decided(folder, configs, planned).overlay
    assert overlay["only"] == ["own", "added_at_one", "added_every", "added_tuned"]
    (folder / "decide-test.yaml").write_text(yaml.safe_dump(overlay))
    assert set(with_overlay(folder, configs)[1].training) == set(overlay["only"])
