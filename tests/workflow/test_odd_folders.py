"""The pipeline in folders whose names mean something to a shell or to Snakemake."""

import os
import shutil

import pytest
from clone import Clone, assert_one_line

ODD = "a b$(touch x)'"


@pytest.fixture
def elsewhere(tmp_path):
    """A folder with the configs, to start a pipeline of another folder in."""

    def copied(clone: Clone) -> Clone:
        other = object.__new__(Clone)
        other.root = tmp_path / "elsewhere"
        other.root.mkdir()
        shutil.copytree(clone.root / "config", other.root / "config")
        shutil.copy(clone.root / "test.yaml", other.root)
        return other

    return copied


def of(clone: Clone) -> dict[str, str]:
    return {"PYTHONPATH": str(clone.root / "src")}


def test_a_figure_is_made_in_a_folder_of_any_name(tmp_path):
    clone = Clone(tmp_path / f"{ODD}{{run}}/ngo")
    clone.snakemake("fig3")
    assert (clone.root / "results/test/figures/fig3.png").stat().st_size
    assert not list(tmp_path.rglob("x"))


def test_a_figure_is_made_from_a_repository_in_a_folder_of_any_name(tmp_path, elsewhere):
    clone = Clone(tmp_path / ODD / "ngo")
    other = elsewhere(clone)
    other.snakemake("-s", str(clone.root / "Snakefile"), "fig3", **of(clone))
    assert (other.root / "results/test/figures/fig3.png").stat().st_size
    assert not list(tmp_path.rglob("x"))


def test_a_path_that_snakemake_would_read_as_wildcards_is_refused(tmp_path, elsewhere):
    clone = Clone(tmp_path / "a{run}")
    other = elsewhere(clone)
    out = other.snakemake("-s", str(clone.root / "Snakefile"), "fig3", code=1, **of(clone))
    assert_one_line(out, r"path: '.*a\{run\}.*' has a brace, which Snakemake reads as a wildcard")
    assert not os.path.exists(other.root / "results")
