"""The workflow, as one finds it in Snakemake's catalogue: the smallest config, and no package."""

import os
import re
import sys
from importlib.metadata import PackageNotFoundError, distribution

import pytest
import running
from conftest import REPOSITORY


def snakemake(*arguments: str, options: tuple[str, ...] = (), **how: object) -> tuple[int, str]:
    """The exit code and all output of Snakemake in the repository."""
    command = [sys.executable, *options, "-m", "snakemake", *arguments]
    process = running.start(command, **{"cwd": REPOSITORY, **how})
    said = "".join(running.ended(process, 240))
    return process.returncode, said


def test_the_smallest_config_gives_a_plan():
    code, said = snakemake("-n", "--quiet", "rules", "--cores", "1", "--directory", ".test")
    assert code == 0, said


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
    how = {
        "options": ("-S",),  # no other site-packages
        "env": {**os.environ, "PYTHONPATH": str(snakemake_alone)},
    }
    code, said = snakemake("-n", "fig3", **how)
    assert code == 1
    (line,) = [line for line in said.splitlines() if line.startswith("ngo: ")]
    assert line.startswith("ngo: the package is not installed where Snakemake runs; use ")
    assert "Traceback" not in said
