import json
import re

import numpy as np
import pandas as pd
import pytest
from command_line import ngo
from conftest import CONFIGS, REPOSITORY

from ngo.data.description import identity
from ngo.pipeline.archives.finished_runs import of_this_code, read_run
from ngo.pipeline.config import read_config
from ngo.pipeline.plan import plan

pytestmark = pytest.mark.usefixtures("own_entries")


def example():
    """The command and the overlay of docs/how_to/data.md, verbatim."""
    part = (REPOSITORY / "docs/how_to/data.md").read_text(encoding="utf-8")
    command = re.search(r"^ngo (describe .*)$", part, re.M)[1]
    return command.split(), re.search(r"^```yaml\n(.*?)^```$", part, re.M | re.S)[1]


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A working directory with the data of the example, and its overlay."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NGO_DATA", raising=False)
    (tmp_path / "data").mkdir()
    (tmp_path / "mine.yaml").write_text(example()[1])
    rng, labels = np.random.default_rng(0), np.arange(96) % 3
    images = rng.integers(0, 80, (96, 28, 28), dtype=np.uint8) + 80 * labels[:, None, None]
    pairs = {"x_train": images[:72], "y_train": labels[:72]}
    pairs |= {"x_test": images[72:], "y_test": labels[72:], "owner_train": np.arange(72) // 12}
    np.savez("data/marks.npz", **{k: v.astype(np.uint8) for k, v in pairs.items()})
    return tmp_path


def test_the_example_of_the_docs_trains(study):
    told = ngo(*example()[0])
    facts = "72 training samples of 1 × 28 × 28, 3 classes, with owners"
    assert told == f"marks: {facts} → {study}/marks.yaml\n"
    specs = plan(read_config([CONFIGS[0], "mine.yaml"])).training["mymarks"]
    runs = {spec.method: spec for spec in specs if spec.seed == 0}
    assert set(runs) == {"gossip", "ngo"}
    flags = runs["ngo"].flags()
    ngo("train", "--plugin", "marks.yaml", *flags, "--device", "cpu", "--out", "run")
    record = json.loads((study / "run/run.json").read_text())
    assert record["about"]["data"] == identity("marks")
    assert [plugin["file"] for plugin in record["plugins"]] == ["marks.yaml"]
    assert of_this_code(read_run(study / "run"), runs["ngo"])
    partition = ["partition", "--plugin", "marks.yaml", "--dataset", "marks", "--workers", "3"]
    ngo(*partition, "--partition", "natural", "--out", "p.parquet")
    owner = pd.read_parquet("p.parquet").assign(owner=lambda rows: rows["sample"] // 12)
    assert (owner.groupby("owner")["worker"].nunique() == 1).all()
    assert (owner.groupby("worker")["owner"].nunique() == 2).all()
