"""Whoever changes the results of runs raises a number: tiny runs of every entry, before and now."""

import io
import json
import os
import subprocess
import sys
import tarfile

import pytest
import tiny_runs
from conftest import REPOSITORY

from ngo.training.spec import FIELDS

#: Lines that state a number.
STATED = r"RESULTS_VERSION = [0-9]|version=[0-9]"
#: So many runs are compared at least.
FEWEST = 149
NEW = ("is unknown", "No such option")
"""How an earlier revision refuses an entry or an option that it does not have."""


def git(*arguments):
    asked = ["git", *arguments]
    return subprocess.run(asked, cwd=REPOSITORY, capture_output=True, check=True).stdout


@pytest.fixture
def before(tmp_path):
    """The packages of the revision that last raised a number."""
    try:
        revision = git("log", "-1", "--format=%H", f"-G{STATED}", "--", "src/ngo").decode().strip()
        shallow = git("rev-parse", "--is-shallow-repository").decode().strip() == "true"
    except (OSError, subprocess.CalledProcessError):
        revision, shallow = "", False
    if shallow or not revision:
        pytest.skip("no history of the package: a release, or a shallow clone")
    with tarfile.open(fileobj=io.BytesIO(git("archive", "--format=tar", revision, "src"))) as found:
        found.extractall(tmp_path / "before", filter="data")
    return tmp_path / "before/src"


def left_by(package, file):
    """What the tiny runs leave if ``package`` is the folder of the packages."""
    variables = {**os.environ, "PYTHONPATH": str(package), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-P", tiny_runs.__file__, str(file)]
    answer = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    return json.loads(file.read_text())


def changed(before, now):
    """The entries whose results have changed under the same number."""
    found = []
    for name, was in before.items():
        new = any(reason in was.get("refused", "") for reason in NEW)
        raised = "version" in was and was["version"] != now[name]["version"]
        if not new and not raised and not same(was, now[name]):
            found.append(name)
    return found


def same(was, now):
    """To the byte; with pulls of another rounding number, after one step, to rounding."""
    if was.get("rounding") == now.get("rounding"):
        return was == now
    before, after = (
        {k: v for k, v in run["one_step"].items() if v is not None} for run in (was, now)
    )
    return bool(before) and after == pytest.approx(before, rel=1e-5, abs=1e-7)


def test_every_entry_has_a_tiny_run():
    trained = {(field, name) for field, names in tiny_runs.ENTRIES.items() for name in names}
    exempt = {(field, name) for field, names in tiny_runs.UNTRAINED.items() for name in names}
    kinds = {each.names.kind: each.names for each in FIELDS.values() if each.names is not None}
    entries = {
        (kind, name)
        for kind, names in kinds.items()
        for name in names
        if names.definitions.get(name, "ngo.").startswith("ngo.")
    }
    told = "give each a line in ENTRIES of tests/tiny_runs.py, or of what it lacks in UNTRAINED"
    assert entries - trained - exempt == set(), told
    told = "they are registered no more: take their lines out"
    assert (trained | exempt) - entries == set(), told


@pytest.mark.slow
def test_results_have_not_changed_without_a_number(before, tmp_path):
    now = left_by(REPOSITORY / "src", tmp_path / "now.json")
    assert [name for name, run in now.items() if "refused" in run] == []
    was = left_by(before, tmp_path / "before.json")
    compared = [name for name, run in was.items() if run.get("version") == now[name]["version"]]
    assert len(compared) >= FEWEST
    assert changed(was, now) == [], "raise the version= of these entries, or RESULTS_VERSION"


def test_what_counts_as_changed():
    now = {name: {"version": "1", "sha256": "a"} for name in ("same", "other", "raised", "new")}
    was = {
        "same": {"version": "1", "sha256": "a"},
        "other": {"version": "1", "sha256": "b"},
        "raised": {"version": "0", "sha256": "b"},
        "new": {"refused": "method: 'new' is unknown; allowed: same."},
    }
    assert changed(was, now) == ["other"]
    assert changed({"same": {"refused": "a mistake"}}, now) == ["same"]
    other, near, far = (
        {"a": {"version": "1", "sha256": f"{V}", "rounding": number, "one_step": {"V": V}}}
        for number, V in ((1, 1.0), (2, 1.0000001), (2, 1.01))
    )
    assert (changed(other, near), changed(other, far), changed(near, far)) == ([], ["a"], ["a"])
