"""The recipes of docs/how_to go together: one run uses all of them."""

import re

import pandas as pd
import pytest
from command_line import ngo
from conftest import REPOSITORY

from ngo.common.registries import ATTACKS, MODELS, TASKS

HOW_TO = REPOSITORY / "docs/how_to"


@pytest.fixture
def recipes(own_entries, tmp_path):
    """The plugins that the pages of docs/how_to write, each whole, as options."""
    options = []
    for page in sorted(HOW_TO.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        for name, content in re.findall(r"^%%writefile (\S+\.py)\n(.*?)^```$", text, re.M | re.S):
            (tmp_path / name).write_text(content)
            options += ["--plugin", tmp_path / name]
    assert len(options) == 2 * 14
    return options


def test_a_run_with_the_recipes(recipes, tmp_path):
    words = "--topology wheel --method gossip_first --local-rule heavy_ball --mass 0.5 "
    words += "--coupling tanh --schedule follow_cosine --dataset disc --model disc_net "
    words += "--partition striped --workers 4 --epochs 20 --device cpu"
    ngo("train", *recipes, *words.split(), "--out", tmp_path / "run")
    metrics = pd.read_parquet(tmp_path / "run/metrics.parquet")
    first, *_, last = metrics["consensus_loss"]
    assert last < 0.8 * first
    assert TASKS["absolute_error"].labelled is False
    assert MODELS["sine_net"].task == "absolute_error"
    assert ATTACKS["stranger"].fields == ("liars",)


def test_the_owners_of_the_recipes(recipes, tmp_path):
    out = tmp_path / "p.parquet"
    natural = ["--dataset", "disc", "--partition", "natural", "--workers", 8]
    ngo("partition", *recipes, *natural, "--out", out)
    table = pd.read_parquet(out)
    assert (table["worker"] == table["sample"] // 100).all()
