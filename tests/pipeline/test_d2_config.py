"""The config and the claims of another paper, as docs/methods.md explains them."""

import numpy as np
import pandas as pd
import pytest
from configs import plan_of
from conftest import REPOSITORY

from ngo.data.loading import train_labels
from ngo.pipeline.config_files import read_config
from ngo.training.partition_file import draw
from ngo.training.run import run
from verdicts.quantities import log_ratio

CONFIG = [REPOSITORY / name for name in ("config/config.yaml", "papers/d2/config.yaml")]


@pytest.fixture
def planned(monkeypatch):
    monkeypatch.chdir(REPOSITORY)
    return plan_of(read_config(CONFIG))


def test_each_worker_has_almost_only_two_classes(planned, tmp_path):
    """In each seed, they are 95 % of a worker's samples or more, and no two workers share them."""
    labels = train_labels("digits", tmp_path)
    specs = [spec for spec in planned.training["d2"] if spec.partition == "shards"]
    assert len({spec.seed for spec in specs}) == 10
    for spec in {spec.seed: spec for spec in specs}.values():
        counts = np.array([np.bincount(labels[part], minlength=10) for part in draw(spec, labels)])
        assert counts.shape == (5, 10)
        assert counts.sum() == len(labels)
        two = counts.argsort(1)[:, -2:]
        assert sorted(two.flatten()) == list(range(10))
        assert (np.take_along_axis(counts, two, 1).sum(1) > 0.95 * counts.sum(1)).all()


@pytest.mark.slow
def test_three_seeds_already_show_the_headline(planned, tmp_path):
    """The loss of D² on unshuffled data is below that of gossip in each of three seeds."""
    tables = []
    for spec in planned.training["d2"]:
        if spec.partition == "shards" and spec.seed < 203 and spec.method != "centralized":
            run(spec, tmp_path / spec.id, tmp_path)
            table = pd.read_parquet(tmp_path / spec.id / "metrics.parquet")
            tables.append(table.assign(run=spec.id, method=spec.method, seed=spec.seed))
    rows = pd.concat(tables, ignore_index=True)
    ratios = log_ratio(rows, of={"method": "d2"}, to={"method": "gossip"}, value="loss")
    assert len(ratios) == 3
    assert (ratios < -0.1).all()
