"""The page on the calibration, from made-up trials."""

import re
import shutil
from types import SimpleNamespace

import pytest
from conftest import REPOSITORY
from figure_files import opened
from made_up_trials import trials

NAMES = ("mnist", "mnist_confirm", "cifar10", "cifar10_confirm", "cifar10_centralized")


@pytest.fixture
def pages(monkeypatch, tmp_path):
    """The tool, in a folder of its own with the results of made-up trials."""
    monkeypatch.syspath_prepend(REPOSITORY / "tools")
    import calibration_page

    metrics = tmp_path / "results/calibration/metrics"
    metrics.mkdir(parents=True)
    (tmp_path / "docs/images").mkdir(parents=True)
    shutil.copytree(REPOSITORY / "config/reference", tmp_path / "config/reference")
    paths = {name: metrics / f"calibration_{name}.parquet" for name in NAMES}
    for dataset in ("mnist", "cifar10"):
        runs = trials(dataset).assign(eval_images=2000)
        kept = runs["topology"].isin(["random", "complete"])
        runs[~kept].to_parquet(paths[dataset])
        runs[kept].to_parquet(paths[f"{dataset}_confirm"])
    runs[runs["method"] == "centralized"].to_parquet(paths["cifar10_centralized"])
    reference = tmp_path / "config/reference/table1_classification.csv"
    out = tmp_path / "results/calibration"
    figure = opened("calibration")
    figure.save(figure.numbers(**paths, reference=reference), "calibration", out)
    monkeypatch.setattr(calibration_page, "REPOSITORY", tmp_path)
    monkeypatch.setattr(calibration_page, "DOCS", tmp_path / "docs")
    monkeypatch.setattr(calibration_page, "ARCHIVE", tmp_path / "absent.tar")
    return calibration_page


def test_the_page_says_what_came_nearest(pages, tmp_path):
    pages.main()
    text = (tmp_path / "docs/calibration.md").read_text(encoding="utf-8")
    best = "the nearest candidate is SGD, η = 0.05, batch 32, γ = 0.1, p = 0.9, 2 epochs, accuracy"
    assert text.count(best) == 2  # of both data sets
    assert "Its distance is 3.00 points (3.00 iid, 3.00 non-iid), and 3.00 on the cells" in text
    assert "Its distance is 2.24 points (3.00 iid, 1.00 non-iid), and 2.24 on the cells" in text
    assert "| MNIST | γ: 0.1, 0.2 | 4 | 36 | 2 | 2 |" in text
    assert "iid, centralized: 97.47 % in the paper, 100.47 % in the nearest trial" in text
    assert "non-iid, centralized" not in text  # within a point
    assert "32.49, 50.11, 52.56 % in the paper, 33.49, 51.11, 53.56 % in the nearest trial" in text
    assert "**MNIST.** No candidate has the values of config.yaml." in text
    assert (tmp_path / "docs/images/calibration.png").stat().st_size < 100_000
    once = text
    pages.main()
    assert (tmp_path / "docs/calibration.md").read_text(encoding="utf-8") == once


def test_the_page_says_where_the_values_of_the_config_came(pages, tmp_path):
    config = tmp_path / "config.yaml"
    text = (REPOSITORY / "config/config.yaml").read_text(encoding="utf-8")
    for old, new in (("gamma: 0.2", "gamma: 0.1"), ("p: 0.95", "p: 0.9")):  # of the settings
        text = re.sub(rf"^    {old} ", f"    {new} ", text, flags=re.M)
    config.write_text(text, encoding="utf-8")
    pages.CONFIG = config
    pages.main()
    text = (tmp_path / "docs/calibration.md").read_text(encoding="utf-8")
    assert "rank 1 of 4; distance 2.24 points, confirmed: 2.24 points" in text


def test_without_results_the_page_names_what_is_missing(pages, tmp_path):
    (tmp_path / "results/calibration/metrics/calibration_mnist.parquet").unlink()
    with pytest.raises(SystemExit, match=r"calibration_mnist\.parquet is missing: run make cal"):
        pages.main()


def test_the_page_says_if_an_earlier_revision_made_the_runs(pages, tmp_path, monkeypatch):
    assert pages.warned(tmp_path / "absent.tar") == ""
    for about, said in (
        ({}, ""),
        ({pages.OLDER: "abc_1"}, "earlier revision of the code (abc\\_1)"),
    ):
        read = SimpleNamespace(about=about)
        monkeypatch.setattr(pages, "read_archive", lambda path, read=read: read)
        assert said in pages.warned(tmp_path)
        assert bool(pages.warned(tmp_path)) == bool(said)
