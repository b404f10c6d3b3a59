"""The pipeline in folders whose names mean something to a shell or to Snakemake."""

import shutil

from clone import Clone, assert_one_line

ODD = "a b$(touch x)'"


def test_a_figure_is_made_in_a_folder_of_any_name_from_a_repository_in_another(tmp_path):
    clone, other = Clone(tmp_path / ODD / "ngo"), object.__new__(Clone)
    other.root = tmp_path / f"{ODD}{{run}}"
    other.root.mkdir()
    shutil.copytree(clone.root / "config", other.root / "config")
    shutil.copy(clone.root / "test.yaml", other.root)
    code = {"PYTHONPATH": str(clone.root / "src")}
    other.snakemake("-s", str(clone.root / "Snakefile"), "fig3", **code)
    assert (other.root / "results/test/figures/fig3.png").stat().st_size
    assert not list(tmp_path.rglob("x"))
    shutil.rmtree(other.root / "results")
    clone.root = clone.root.rename(tmp_path / "a{run}")
    code = {"PYTHONPATH": str(clone.root / "src")}
    out = other.snakemake("-s", str(clone.root / "Snakefile"), "fig3", code=1, **code)
    assert_one_line(out, r"path: '.*a\{run\}.*' has a brace, which Snakemake reads as a wildcard")
    assert not (other.root / "results").exists()
