import sys
from pathlib import Path

from conftest import REPOSITORY

from ngo.pipeline.archives.rebuilding import command


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
