"""The paper that ``verdicts new`` writes: made, killed, changed, verified, forged."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import running
import yaml
from running import finished

from ngo.pipeline.paths import REPOSITORY
from verdicts.members import SUMS, members_of, tar_of

SCRIPTS = Path(sys.executable).parent
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(REPOSITORY / "src"),
    "PATH": f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}",
}
LIMIT = 300  # seconds of one command; all take less than a minute on an idle machine


def start(paper, *command):
    return running.start(command, cwd=paper, env=ENVIRONMENT, stderr=subprocess.STDOUT)


def called(paper, *command, code=0):
    return finished(start(paper, *command), code, LIMIT)


def runs(paper):
    """The files of runs, each with its date: a run that was trained twice has two."""
    return {(path.name, path.stat().st_mtime_ns) for path in paper.glob("results/runs/*.csv")}


def change(paper, name, old, new):
    path = paper / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.fixture(scope="module")
def paper(tmp_path_factory):
    """The template with three seeds of two methods and one claim; installed."""
    folder = tmp_path_factory.mktemp("new") / "paper"
    called(REPOSITORY, "verdicts", "new", folder)
    config = yaml.safe_load((folder / "config/config.yaml").read_text())
    del config["methods"]["forest"]
    (folder / "config/config.yaml").write_text(yaml.safe_dump({**config, "seeds": [0, 1, 2]}))
    claims = yaml.safe_load((folder / "claims.yaml").read_text())
    del claims["claims"]["forest-near-logistic"], claims["looks"]
    (folder / "claims.yaml").write_text(yaml.safe_dump(claims))
    (folder / ".venv").mkdir()
    (folder / ".venv/installed").touch()
    return folder


def test_the_template_is_small_and_follows_the_rules_of_snakemakes_catalogue(tmp_path):
    called(tmp_path, "verdicts", "new", "paper")
    files = [path for path in (tmp_path / "paper").rglob("*") if path.is_file()]
    assert len(files) <= 12
    assert sum(len(path.read_text().splitlines()) for path in files) <= 400
    for name in ("README.md", "config/README.md", "workflow/Snakefile"):
        assert (tmp_path / "paper" / name).is_file()
    usage = yaml.safe_load((tmp_path / "paper/.snakemake-workflow-catalog.yml").read_text())
    assert {"mandatory-flags", "software-stack-deployment"} <= usage["usage"].keys()
    source = (REPOSITORY / "src/verdicts").as_uri()
    assert f"verdicts @ {source}\n" in (tmp_path / "paper/environment.yml").read_text()
    called(tmp_path / "paper", "snakemake", "--lint")
    called(tmp_path / "paper", "snakefmt", "--check", "workflow")
    assert "is not allowed; name a new one" in called(tmp_path, "verdicts", "new", "paper", code=2)


def test_a_killed_make_goes_on_and_nothing_is_trained_twice(paper):
    killed = start(paper, "make")
    running.awaited(lambda: runs(paper), killed, LIMIT)
    running.kill(killed)
    names = [path.stem for path in paper.glob("results/runs/*.csv")]
    whole = {(name, date) for name, date in runs(paper) if len(names) > 1}
    called(paper, "make")
    assert len(runs(paper)) == 6
    assert len(whole - runs(paper)) <= 2  # those that were being written
    page = (paper / "results/page/verdicts.html").read_text()
    assert "Of 1 claim, 1 holds." in page
    assert 'src="data:image/png;base64,' in page
    badge = (paper / "results/page/verdicts.svg").read_text()
    assert "1 of 1 hold" in badge
    said = json.loads((paper / "results/page/verdicts.jsonl").read_text())
    assert said["verdicts"] == {"neighbours-over-logistic": "holds"}


def test_a_seed_trains_itself_alone_and_a_claim_nothing(paper):
    before = runs(paper)
    change(paper, "config/config.yaml", "- 2\n", "- 2\n- 3\n")
    called(paper, "make")
    assert before < runs(paper)
    added = {name for name, _ in runs(paper) - before}
    assert added == {"logistic_3.csv", "neighbours_3.csv"}
    before = runs(paper)
    change(paper, "claims.yaml", "above: 0", "below: 0")
    called(paper, "make")
    assert runs(paper) == before
    assert "reversed" in (paper / "results/page/verdicts.txt").read_text()


def test_an_archive_verifies_and_a_forged_one_does_not(paper):
    out = called(paper, "verdicts", "verify", "results/paper.tar", "--seed", "1", "--sample", "1")
    assert out.count("made again, the same") == 1 + 1
    assert "FAIL" not in out
    assert "1 of 8 runs made again; the probability of missing a forgery" in out
    files = members_of((paper / "results/paper.tar").read_bytes())
    assert SUMS not in files

    def forged(name, old, new):
        content = files[name].decode()
        assert re.search(old, content)
        changed = {**files, name: re.sub(old, new, content).encode()}
        (paper / "forged.tar").write_bytes(tar_of(changed))

    verify = ("verdicts", "verify", "forged.tar", "--seed", "1", "--sample")
    forged("results/scores.csv", r"(logistic,0,900),[\d.]+", r"\1,99.5")
    assert "FAIL  verdicts: " in called(paper, *verify, "0", code=1)
    out = called(paper, *verify, "1", code=1)
    assert re.search(r"FAIL  results/scores.csv: accuracy at step 900: 99.5 in the archive", out)
    forged("experiment.py", "import json", "open('canary', 'w')\nimport json")
    out = called(paper, *verify, "1", code=1)
    assert "FAIL  sources: 'experiment.py' is not that of this folder: nothing was run" in out
    forged("archive.json", '"results"', '"/etc"')
    out = called(paper, *verify, "0", code=2)
    assert out.splitlines()[-1].startswith("verdicts: archive: 'forged.tar' is refused: ")
    assert not list(paper.rglob("canary"))
