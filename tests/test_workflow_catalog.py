"""The workflow, as one finds it in Snakemake's catalogue: the smallest config, and no package."""

import os
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution

import pytest
from conftest import REPOSITORY
from running import finished, snakemake, start


def test_the_smallest_config_gives_a_plan():
    snakemake(REPOSITORY, "-n", "--quiet", "rules", "--directory", ".test")


@pytest.fixture(scope="module")
def snakemake_alone(tmp_path_factory):
    """A folder of Snakemake and the packages that it requires, and no others."""
    folder, known, waiting = tmp_path_factory.mktemp("alone"), set(), ["snakemake"]
    while waiting:
        name = waiting.pop()
        if name in known:
            continue
        known.add(name)
        try:
            found = distribution(name)
        except PackageNotFoundError:
            continue  # for another system
        for top in {path.parts[0] for path in found.files or () if path.parts[0] != ".."}:
            if not (folder / top).exists():
                (folder / top).symlink_to(found.locate_file(top))
        waiting += [
            re.match(r"[\w.-]+", each)[0] for each in found.requires or () if "extra ==" not in each
        ]
    return folder


def test_where_the_package_is_not_installed_one_line_says_so(snakemake_alone):
    command = [sys.executable, "-S", "-m", "snakemake", "-n", "fig3"]  # no other site-packages
    environment = {**os.environ, "PYTHONPATH": str(snakemake_alone)}
    how = {"cwd": REPOSITORY, "env": environment, "stderr": subprocess.STDOUT}
    said = finished(start(command, **how), code=1)
    (line,) = [line for line in said.splitlines() if line.startswith("ngo: ")]
    assert line.startswith("ngo: the package is not installed where Snakemake runs; use ")
    assert "Traceback" not in said
