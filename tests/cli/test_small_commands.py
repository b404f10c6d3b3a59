"""Commands that read a file or print a table."""

import json
import re

import pandas as pd
from command_line import SMALL, mistake, ngo

from ngo.common import plugins
from ngo.common.registries import REGISTRIES
from ngo.gossip.step_parts import PARTS
from ngo.training.spec import FIELDS

PLUGIN = """
import ngo

@ngo.coupling("limited", options={"limit": ngo.number("largest pull", 0.5, ngo.above(0, 9))})
def limited(z, weights, gamma, run):
    return z
"""
CONFIG = ["--config", "config/config.yaml"]


def test_assumptions_are_printed_or_written(tmp_path):
    printed = ngo("assumptions", *CONFIG)
    out = ngo("assumptions", *CONFIG, "--out", tmp_path / "a.md", "--out", tmp_path / "a.html")
    assert f"values → {tmp_path / 'a.md'}, {tmp_path / 'a.html'}" in out
    assert (tmp_path / "a.md").read_text().strip() == printed.strip()
    assert "<table" in (tmp_path / "a.html").read_text()


def test_a_bundled_data_set_needs_no_files(tmp_path):
    out = ngo("data", "digits", "--out", tmp_path / "digits.json")
    assert out == "digits: 1,437 training samples, no files to verify\n"
    facts = json.loads((tmp_path / "digits.json").read_text())
    assert facts == {"dataset": "digits", "train_samples": 1437, "files": {}}


def test_all_parts_are_listed():
    text = ngo("methods")
    for kind in PARTS:
        assert f"(--{kind.replace('_', '-')}):" in text
        for name in REGISTRIES[kind]:
            assert f"\n  {name} " in text
    words = " ".join(text.split())
    assert "D² (Tang et al. 2018): gossip with a correction" in words
    assert " Reads gamma, gamma_decay, v_threshold." in words
    assert max(map(len, text.splitlines())) <= 120


def test_a_partition_is_told_in_numbers_and_its_file_gives_what_is_drawn_without(tmp_path):
    skewed = ["--partition", "quantity", "--smallest", "20", "--beta", "0.3", "--workers", "4"]
    out = ngo("partition", "--dataset", "digits", *skewed, "--out", tmp_path / "p.parquet")
    assert "10 classes covered, Hellinger distance 0." in out
    sizes = pd.read_parquet(tmp_path / "p.parquet").groupby("worker").size()
    assert sizes.sum() == 1437
    assert sizes.min() >= 20
    shards = ["--partition", "shards", "--shards", "40"]
    file = tmp_path / "p.parquet"
    out = ngo("partition", "--dataset", "digits", *shards, "--seed", "3", "--out", file)
    assert "for each of 10 workers" in out
    run = ["train", *SMALL, *shards, "--seed", "3", "--out"]
    ngo(*run, tmp_path / "with", "--partition-file", file)
    ngo(*run, tmp_path / "without")
    made = [pd.read_parquet(tmp_path / f"{name}/metrics.parquet") for name in ("with", "without")]
    pd.testing.assert_frame_equal(*made)


def test_runs_lists_what_a_config_trains():
    configs = ["--config", "config/config.yaml", "--config", "config/demo.yaml"]
    text = ngo("runs", *configs)
    assert "table1: 28 runs\n  digits-iid-centralized-s0-" in text
    assert "demo: 135 runs of 19 experiments on " in text.splitlines()[-1]
    table = json.loads(ngo("runs", *configs, "--json"))
    assert len({row["id"] for row in table}) == 135
    assert sum(row["experiment"] == "table1" for row in table) == 28


def test_runs_finds_mistakes_in_claims(tmp_path, caplog):
    claims, own = tmp_path / "claims.yaml", tmp_path / "mine.yaml"
    configs = ["--config", "config/config.yaml", "--config", "config/demo.yaml", "--config", own]
    own.write_text(f"tier: mine\nclaims: {claims}\n")
    ngo("runs", *configs)
    assert f"claims: {str(claims)!r} is not there yet" in caplog.text
    level = "from: table1, quantity: level, with: {value: acuracy}, above: 0"
    claims.write_text(f"claims: {{a: {{place: x, says: y, kind: order, {level}}}}}")
    assert mistake("runs", *configs).startswith("claims.a.with.value: 'acuracy' is unknown")


def listed(*arguments):
    """What is said of each field, by its name."""
    entries = re.split(r"\n(?=\S)", ngo("fields", *arguments).split("\n\n")[1])
    pairs = (" ".join(entry.split()).split(" ", 1) for entry in entries)
    return dict(pairs)


def test_every_field_is_listed_with_its_meaning_its_values_and_its_readers():
    found = listed()
    assert list(found) == list(FIELDS)
    told = "Dirichlet concentration: a number, above 0, at most 1,000,000. Default 0.5. "
    assert found["beta"] == told + "Read with partition dirichlet, dirichlet_min, quantity."
    assert found["kept_share"].endswith("Default 0.01. Read with compression random_k, top_k.")
    tasks = "classification, next_character, regression, vae. Default classification."
    assert found["task"] == f"learning task: {tasks}"


def test_options_of_plugins_are_listed(own_entries, tmp_path):
    path = tmp_path / "limits.py"
    path.write_text(PLUGIN)
    told = "largest pull: a number, above 0, at most 9. Default 0.5. Read with coupling limited."
    assert listed("--plugin", path)["limit"] == told
    assert plugins.loaded()
