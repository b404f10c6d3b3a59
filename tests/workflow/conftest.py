"""A clone in which the pipeline has run once; tests that change it have a copy."""

import shutil

import pytest
from clone import TARGETS, Clone


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A clone in which the targets have been made; tests leave it as it is."""
    clone = Clone(tmp_path_factory.mktemp("made") / "ngo")
    clone.snakemake(*TARGETS)
    return clone


@pytest.fixture
def copy(made, tmp_path):
    """A copy with other file dates."""
    shutil.copytree(made.root, tmp_path / "ngo", copy_function=shutil.copyfile, symlinks=True)
    other = object.__new__(Clone)
    other.root = tmp_path / "ngo"
    return other
