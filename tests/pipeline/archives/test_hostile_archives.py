"""Some changed archives through all commands; ``make test-hostile`` tries thousands."""

import json

import pytest
from good_archive import good_archive
from hostile_archives import EVIL, Trial, survived
from mutations import CODE, KINDS, packed

SEEDS = range(1_000_000, 1_000_036)


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    folder = tmp_path_factory.mktemp("good")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return good_archive(folder)


@pytest.fixture
def trial(good, tmp_path, monkeypatch):
    return Trial(good, tmp_path, monkeypatch)


def test_changed_archives_run_nothing_and_forge_nothing(trial):
    found = survived(trial, SEEDS)
    assert sum(found.values()) == len(SEEDS)
    assert len({kind for kind, _ in found}) > len(KINDS) / 2
    assert found.total() > sum(n for (_, end), n in found.items() if end == "refused") > 10


def test_the_good_archive_starts_the_repositorys_workflow_and_no_other(trial):
    assert trial.codes(packed(trial.good, provenance=False)) == (0, 0, 0)
    ((command,),) = [trial.started]
    assert command[1:4] == ["-P", "-m", "snakemake"]
    assert command[command.index("--snakefile") + 1] == str((trial.folder / "Snakefile").resolve())


@pytest.mark.parametrize("name", [f"own/{EVIL}", EVIL, f"./{EVIL}"])
@pytest.mark.parametrize("inside", [True, False])
def test_a_plugin_runs_neither_from_the_archive_nor_from_here(trial, name, inside):
    about = json.loads(trial.good["archive.json"])
    about["config"]["plugins"] = [name]
    members = {**trial.good, "archive.json": json.dumps(about).encode()}
    members["config/config.yaml"] = json.dumps(about["config"]).encode()
    if inside:
        members[name.removeprefix("./")] = CODE
    assert trial.codes(packed(members, provenance=True)) == (2, 2, 2)
    _, said = trial.ngo("verify", "a.tar", "--sample", "0", "--seed", "0")
    assert ("--trust-plugins" in said) == inside


def test_an_archive_without_provenance_does_not_verify(trial):
    members = {k: v for k, v in trial.good.items() if k != "ro-crate-metadata.json"}
    assert trial.codes(packed(members, provenance=False))[2] == 1
    _, said = trial.ngo("verify", "a.tar", "--sample", "0", "--seed", "0")
    assert "FAIL  provenance: ro-crate-metadata.json is missing" in said
