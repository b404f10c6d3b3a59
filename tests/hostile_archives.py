"""What a changed archive does to ``ngo rebuild``, ``ngo restore`` and ``ngo verify``."""

import os
import resource
import shutil
import sys
from collections import Counter
from pathlib import Path

from click.testing import CliRunner
from conftest import REPOSITORY
from mutations import CANARY, mutated

from ngo.cli import cli
from ngo.pipeline.archives.archive import Archive, read_archive

#: The memory that no changed archive may take beyond that of the good one, in bytes.
ROOM = 2**30

EVIL = "evil.py"

#: Kinds of changes to the numbers of runs, which only training finds.
FORGED = ("numbers", "tables")


class Trial:
    """A folder in which the commands read archives, without starting Snakemake."""

    def __init__(self, good: Path, folder: Path, monkeypatch) -> None:
        self.good, self.folder = read_archive(good).members, folder
        monkeypatch.chdir(folder)
        for name in ("Snakefile", "workflow", "config"):
            (folder / name).symlink_to(REPOSITORY / name)
        shutil.copytree(good.parent / "own", folder / "own")
        # A local file that an archive may name.
        (folder / EVIL).write_text(f"open({str(folder / CANARY)!r}, 'w').close()\n")
        self.started: list[list[str]] = []
        monkeypatch.setattr(os, "execve", lambda _, command, environment: self.start(command))
        self.runs = of_runs(read_archive(good))

    def start(self, command: list[str]) -> None:
        self.started.append(command)

    def ngo(self, *arguments: str) -> tuple[int, str]:
        """The exit code and the output of a command; an error if it ends in a traceback."""
        answer = CliRunner().invoke(cli.main, arguments)
        assert isinstance(answer.exception, SystemExit | None), (arguments, answer.exc_info)
        lines = answer.output.splitlines()
        assert answer.exit_code in (0, 1, 2)
        assert "Traceback" not in answer.output
        if answer.exit_code:
            assert lines[-1].startswith("ngo: "), answer.output
        return answer.exit_code, answer.output

    def codes(self, content: bytes) -> tuple[int, int, int]:
        """The exit codes of rebuild, restore and verify for an archive."""
        (self.folder / "a.tar").write_bytes(content)
        codes = []
        for command in (["rebuild"], ["restore"], ["verify", "--sample", "0", "--seed", "0"]):
            codes.append(self.ngo(*command, "a.tar")[0])
            shutil.rmtree(self.folder / "results", ignore_errors=True)
        assert not (self.folder / CANARY).exists(), "code of the archive has run"
        return tuple(codes)

    def same_runs(self, content: bytes, *, values: bool) -> bool:
        """Whether the verdicts of an archive rest on the runs of the good one, and their numbers.

        Without ``values``, numbers may differ.
        """
        (self.folder / "a.tar").write_bytes(content)
        found, good = of_runs(read_archive(self.folder / "a.tar")), self.runs
        if values or found.keys() != good.keys():
            return found == good
        return all(
            found[run][0] == good[run][0] and found[run][1].keys() == good[run][1].keys()
            for run in good
        )


def of_runs(archive: Archive) -> dict[str, tuple[dict, dict[str, bytes]]]:
    """The values and the columns of each run in an archive. (Its sizes are found by training.)"""
    return {
        name: (run.record["spec"], {column: x.tobytes() for column, x in run.columns.items()})
        for name, run in archive.runs.items()
    }


def survived(trial: Trial, seeds: range) -> Counter:
    """How many changed archives of each kind were refused, failed and passed."""
    from ngo.pipeline.archives.archive import tar_of

    assert trial.codes(tar_of(trial.good)) == (0, 0, 0)
    before, found = memory(), Counter()
    for seed in seeds:
        kind, content = mutated(trial.good, seed)
        try:
            rebuilt, _, verified = trial.codes(content)
            passed = (rebuilt, verified) == (0, 0)
            unnoticed = passed and not trial.same_runs(content, values=kind not in FORGED)
        except Exception as error:
            raise AssertionError(f"seed {seed}, {kind}") from error
        assert not unnoticed, f"seed {seed}, {kind}: other numbers, and ngo verify passes"
        found[kind, "passed" if verified == 0 else "failed" if verified == 1 else "refused"] += 1
        taken = memory() - before
        assert taken < ROOM, f"seed {seed}, {kind}: {taken / 2**20:.0f} MiB"
    return found


def memory() -> int:
    """The most memory that this process has had, in bytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
