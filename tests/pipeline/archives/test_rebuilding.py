import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY

from ngo.pipeline.archives.rebuilding import command


@pytest.mark.parametrize("whole", [True, False])
def test_the_page_of_results_is_made_from_a_whole_archive_only(whole):
    about = {"artefacts": ["fig1"], "configs": ["config/config.yaml"], "whole": whole}
    words = command(Path("unpacked"), about, ["fig1"])
    assert words.count("report") == (2 if whole else 0)  # a target, and an allowed rule


def test_the_workflow_is_the_repositorys_and_imports_nothing_from_a_folder(monkeypatch):
    monkeypatch.chdir(REPOSITORY)
    about = {"artefacts": [], "configs": ["config/config.yaml", "config/b.yaml"], "whole": False}
    words = command(Path("unpacked"), about, [])
    assert words[:4] == [sys.executable, "-P", "-m", "snakemake"]

    def after(option):
        return words[words.index(option) + 1]

    assert after("--snakefile") == str(REPOSITORY / "Snakefile")
    assert after("--workflow-profile") == str((REPOSITORY / "workflow/profiles/local").resolve())
    assert after("--configfile") == str(REPOSITORY / "unpacked/config/b.yaml")
    assert after("--directory") == "unpacked"
