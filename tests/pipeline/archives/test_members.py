"""Which members an archive may have."""

import pytest
from shipped_plans import planned

from ngo.common.registry import UserError
from ngo.pipeline.archives import archive

ALLOWED = (
    "archive.json", "SHA256SUMS", "ro-crate-metadata.json",
    "Snakefile", "workflow/Snakefile", "workflow/rules/train.smk", "config/config.yaml",
    "config/reference/table1.csv",
    "config/reference/claims.yaml", "mine/claims.yaml", "graph.edgelist", "own_plugin.py",
    "papers/d2/config.yaml", "papers/d2/claims.yaml", "papers/own/reference/table.csv",
    "results/data/mnist.json", "results/laptop/metrics/fig1.parquet",
    "results/runs/metrics.parquet", "results/runs/records.jsonl.xz",
)  # fmt: skip

REFUSED = (
    "results/laptop/tables/claims.html", "results/laptop/tables/claims.csv",
    "results/laptop/report.html", "results/laptop/figures/fig1.png", "results/runs/a/run.json",
    "results/runs/a/metrics.parquet", "results/partitions/a.parquet", "results/sitecustomize.py",
    ".snakemake/metadata/a.json", ".env", ".ngo.yaml", "a/.b/c.yaml", "matplotlibrc", "a.pth",
    "pandas.so", "profiles/default/config.yaml", "workflow/profiles/local/config.yaml",
    "workflow/rules/a.py", "workflow/rules/Snakefile", "notebooks/fig1.ipynb", "logs/a.json",
    "a b.py", "papers/own/figures/fig1.py", "papers/own/figures/claims.yaml",
    "papers/a/b/figures/c.py", "papers/d2/notebooks/d2.ipynb", "a;b.yaml", "a\nb.yaml",
    "{a}.yaml", "$(a).yaml", "config/", "", "a" * 300,
)  # fmt: skip


@pytest.mark.parametrize("name", ALLOWED)
def test_members_of_an_archive(name):
    archive.check_member(name, 100)
    with pytest.raises(UserError, match=r"has 999999999999 bytes; at most \d+ are allowed"):
        archive.check_member(name, 999999999999)


@pytest.mark.parametrize("name", REFUSED)
def test_results_code_and_settings_are_no_members(name):
    with pytest.raises(UserError, match="is no part of an archive"):
        archive.check_member(name, 0)


def test_members_that_the_config_does_not_ask_for_are_refused():
    names = ["archive.json", "config/config.yaml", "results/paper/metrics/fig1.parquet",
             "results/paper/metrics/runs.parquet", "results/data/mnist.json",
             "config/reference/claims.yaml", "workflow/rules/any.smk"]  # fmt: skip
    plan = planned()
    archive.check_expected(dict.fromkeys(names), plan, ["config/config.yaml"])
    others = ["results/laptop/metrics/fig1.parquet", "results/paper/metrics/other.parquet",
              "results/data/other.json", "pandas.py", "config/other.yaml"]  # fmt: skip
    for other in others:
        with pytest.raises(UserError, match=f"'{other}' is no part of an archive of its config"):
            archive.check_expected(dict.fromkeys([*names, other]), plan, ["config/config.yaml"])


def test_a_file_outside_the_working_directory_can_not_be_packed():
    assert archive.inside("plugins", "./a/../b.py") == "b.py"
    for name in ("/a.py", "../a.py"):
        with pytest.raises(UserError, match=f"plugins: '{name}' is outside the working directory"):
            archive.inside("plugins", name)
