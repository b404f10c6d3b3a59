"""The workflow as a module of another workflow, in another folder."""

import pytest
import yaml
from clone import REPOSITORY, assert_one_line
from running import snakemake

OUTER = f"""
configfile: "mine.yaml"

module ngo:
    snakefile: "{REPOSITORY}/workflow/Snakefile"
    config: config["consensus_study"]

use rule * from ngo as ngo_*

rule copy:
    input: "results/demo/figures/fig3.csv"
    output: "own/fig3.csv"
    default_target: True
    shell: "cp {{input}} {{output}}"
"""


@pytest.fixture
def outer(tmp_path, monkeypatch):
    """The folder of another workflow, whose config has the demo tier's under a key."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    demo = yaml.safe_load((REPOSITORY / "config/demo.yaml").read_text())
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump({"consensus_study": demo}))
    (tmp_path / "Snakefile").write_text(OUTER)
    return tmp_path


def test_a_module_makes_figure_3_of_the_demo_tier(outer):
    said = snakemake(outer)
    assert "ngo_measure" in said
    assert "ngo_fig3" in said
    head, *rows = (outer / "own/fig3.csv").read_text().splitlines()
    assert head.endswith(",tier")
    assert rows
    assert all(row.endswith(",demo") for row in rows)
    assert (outer / "results/demo/figures/fig3.png").stat().st_size
    assert not (outer / "config").exists()
    assert "Nothing to be done" in snakemake(outer, "ngo_fig3")


def test_a_prefix_is_refused(outer):
    text = OUTER.replace("    config: config", "    prefix: 'a'\n    config: config")
    (outer / "Snakefile").write_text(text)
    assert_one_line(snakemake(outer, "-n", code=1), "^ngo: module: prefix is not supported")
