"""``ngo decide``: seeds for undecided claims, from the command."""

import pytest
import yaml
from command_line import mistake, ngo
from undecided_tier import CLAIMS, make, seeds_of, tier, with_overlay


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def decide(*arguments, cores=1):
    return ngo("decide", "--config", "config.yaml", "--cores", str(cores), *arguments)


def test_it_says_what_the_next_looks_take_and_writes_an_overlay(folder):
    configs, _ = tier(folder)
    text = decide("--hours", "1")
    assert text.startswith("undecided: 4 of 5 claims (80%)\n")
    rows = [line.split() for line in text.splitlines()]
    assert ["at-one", "4", "8", "8", "0.20"] in [row[:5] for row in rows]
    assert "chosen: 3 looks, 12 runs, 0.27 hours; all: 3 looks, 12 runs, 0.27 hours" in text
    assert "unplanned: more seeds can't decide it: its file has no looks for it" in text
    assert "snakemake claims --cores all --configfile config.yaml decide-test.yaml" in text
    overlay = (folder / "decide-test.yaml").read_text()
    assert overlay.startswith("# Written by `ngo decide`")
    assert "&" not in overlay
    _, planned = with_overlay(folder, configs)
    chosen = [("gossip", 0.4), ("ngo", 1.0)]
    assert seeds_of(planned, "added_tuned") == ([7, 8, 9, 10], chosen)
    # Nothing has run since: the same again.
    assert decide("--hours", "1") == text
    assert (folder / "decide-test.yaml").read_text() == overlay


def test_more_seeds_follow_those_that_were_trained(folder):
    configs, _ = tier(folder)
    decide("--hours", "1")
    make(folder, with_overlay(folder, configs)[1])
    text = decide("--hours", "2")
    assert ["tuned", "8", "16"] in [line.split()[:3] for line in text.splitlines()]
    _, planned = with_overlay(folder, configs)
    assert seeds_of(planned, "added_tuned")[0] == list(range(7, 19))
    # With no time, what was trained stays.
    before = yaml.safe_load((folder / "decide-test.yaml").read_text())
    assert "No seeds are added; give more hours." in decide("--hours", "0")
    assert yaml.safe_load((folder / "decide-test.yaml").read_text()) == before


def test_a_dry_run_writes_nothing_and_more_cores_take_less_time(folder):
    tier(folder)
    text = decide("--hours", "1", "--dry-run", cores=2)
    assert "chosen: 3 looks, 12 runs, 0.13 hours" in text
    assert not (folder / "decide-test.yaml").exists()


def test_where_nothing_is_undecided_it_says_so(folder):
    tier(folder, {"decided": CLAIMS["decided"]})
    assert decide("--hours", "1") == "undecided: 0 of 1 claims (0%)\nNothing is undecided.\n"


def test_mistakes_in_a_config_are_told_in_a_line(folder):
    tier(folder)
    for name in ("a/b", "[]"):
        (folder / "more.yaml").write_text(f"tier: {name}\n")
        configs = ("--config", "config.yaml", "--config", "more.yaml")
        assert mistake("decide", *configs, "--hours", "1").startswith("tier: ")
    assert mistake("decide", "--config", "config.yaml", "--hours", "-1").startswith("hours: -1")


def test_a_tier_without_tables_is_a_mistake(folder):
    tier(folder)
    arguments = ("--config", "config.yaml", "--hours", "1", "--results", "elsewhere")
    assert mistake("decide", *arguments) == (
        "results: 'elsewhere/test/metrics' is not there; make the target claims first."
    )
