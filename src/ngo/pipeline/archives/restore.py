"""Restoring the finished runs of an archive, so that the workflow trains only the others.

The workflow trains a run again if its partition file is absent when another run needs it, so
partitions are drawn too. Snakemake does not train a run without a record of it (``.snakemake``),
but would not notice later either that its code has changed: its option ``--touch`` makes the
records.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ngo.common.files import write_text
from ngo.common.locks import exclusive_lock
from ngo.common.registry import UserError
from ngo.data.download import prepare
from ngo.data.manifest import manifest_text
from ngo.data.partition import Parts, parts_digest
from ngo.pipeline.archives.archive import Archive
from ngo.pipeline.archives.archive_plan import Tell, archived_plan
from ngo.pipeline.archives.collect import RUNS, of_this_code
from ngo.pipeline.archives.members import deciding_members
from ngo.pipeline.archives.packed_runs import revisions, run_here, write_run
from ngo.pipeline.config_files import read_config
from ngo.pipeline.plan import Plan, plan
from ngo.training import earlier
from ngo.training.spec import RunSpec

# The workflow's lock: one process at a time works in this folder.
LOCK = ".snakemake/ngo.lock"

# What an interrupted run leaves (``ngo.training.checkpoint``, which imports torch).
CHECKPOINT = "checkpoint.pt"

# Snakemake, which waits 0.1 s before it touches the files of a job, so that their dates differ. The
# workflow ignores dates.
TOUCH = """
from snakemake.executors.touch import Executor
Executor.SLEEPING_TIME = 0
from snakemake.cli import main
main()
"""


@dataclass
class Restored:
    """What became of the runs in an archive; each list has ids."""

    tier: str
    #: Written into ``results/runs``.
    restored: list[str] = field(default_factory=list)
    #: Finished there before, by the same code.
    here: list[str] = field(default_factory=list)
    #: Made by other code than this package's, or on another partition.
    other_code: list[str] = field(default_factory=list)
    #: The source revisions of the runs of other code.
    made_by: str = ""
    #: Not among the runs of the config.
    not_in_config: list[str] = field(default_factory=list)
    #: Runs whose models are needed: archives have none.
    models: list[str] = field(default_factory=list)
    #: How many runs of the config are left to train.
    missing: int = 0
    #: Data sets whose partitions can't be drawn, with the reason.
    no_data: dict[str, str] = field(default_factory=dict)
    #: Files that the workflow is to take as finished.
    files: list[str] = field(default_factory=list)

    @property
    def line(self) -> str:
        """How many runs were restored, and how many were not, by reason."""
        parts = [f"{len(self.restored)} runs restored"]
        for found, reason in (
            (self.here, "here already"),
            (self.other_code, "of other code"),
            (self.not_in_config, "not in the config"),
            (self.models, "trained again for their models, which archives don't have"),
        ):
            if found:
                parts.append(f"{len(found)} {reason}")
        return f"{', '.join(parts)}; {self.missing} of the {self.tier} tier's runs left to train"


@contextmanager
def chosen(
    archive: Archive, configs: Sequence[str | Path] = (), *, trusted: bool, tell: Tell
) -> Iterator[tuple[Plan, list[Path]]]:
    """The plan of ``configs``, and the files by which Snakemake makes the same plan.

    The configs are the user's own; without any, they are those in the archive, with plugins only if
    they are ``trusted`` (see ``archive_plan``). Snakemake needs the files that these configs name
    in this folder: a UserError unless they are here, as they are in the archive.
    """
    if configs:
        yield plan(read_config(configs)), [Path(each) for each in configs[1:]]
        return
    here = Path.cwd()
    with archived_plan(archive, trusted=trusted, tell=tell) as planned:
        overlays = [Path.cwd() / name for name in archive.about["configs"]]
        with chdir(here):
            _check_here(archive, planned)
            yield planned, overlays


def _check_here(archive: Archive, planned: Plan) -> None:
    """Raise a UserError if a file that decides runs is not here as it is in the archive."""
    for name in sorted(deciding_members(planned)):
        place = Path(name)
        if not place.is_file() or place.read_bytes() != archive.members[name]:
            raise UserError(
                f"restore: {name!r} is not here as it is in the archive; take it from there "
                f"(tar xf {archive.path} {name}), or name your own config (--config)."
            )


def restore(archive: Archive, planned: Plan, root: Path) -> Restored:
    """Write the runs of an archive that a plan has into ``results/runs``.

    Only runs of the same values and the same code fingerprint are written. Data sets are read below
    ``root``. Raises a UserError for an archive that is damaged, and while the workflow runs.
    """
    lock = exclusive_lock(LOCK)
    try:
        found = _sorted_out(archive, planned)
        _draw_partitions(found, archive, planned, root)
        for name in found.restored:
            write_run(RUNS / name, archive.runs[name])
            (RUNS / name / CHECKPOINT).unlink(missing_ok=True)
    finally:
        lock.release()
    finished = {*found.restored, *found.here}
    found.missing = len(planned.runs.keys() - finished)
    found.made_by = revisions(archive.runs[name].record for name in found.other_code)
    return found


def record(files: Sequence[str], overlays: Iterable[str | Path]) -> None:
    """Make Snakemake's records of ``files``, as if it had just made them with this code."""
    if not files:
        return
    command = [sys.executable, "-P", "-c", TOUCH, *files, "--touch", "--force", "--cores", "1000"]
    command += ["--workflow-profile", "workflow/profiles/local", "--quiet", "all"]
    if overlays := [str(path) for path in overlays]:
        command += ["--configfile", *overlays]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode:
        lines = [*answer.stdout.splitlines(), *answer.stderr.splitlines(), "no message"]
        told = next((line for line in lines if line.startswith("ngo: ")), lines[-2])
        raise UserError(f"restore: the runs are here, but Snakemake has no record of them: {told}")


def _sorted_out(archive: Archive, planned: Plan) -> Restored:
    found = Restored(planned.tier)
    for name, run in sorted(archive.runs.items()):
        spec = planned.runs.get(name)
        if spec is None:
            found.not_in_config.append(name)
        elif name in planned.snapshots:
            found.models.append(name)
        elif not of_this_code(run, spec):
            found.other_code.append(name)
        elif (here := run_here(RUNS / name)) and of_this_code(here, spec):
            found.here.append(name)
        else:
            found.restored.append(name)
    return found


def _draw_partitions(found: Restored, archive: Archive, planned: Plan, root: Path) -> None:
    """Draw the absent partitions of restored runs, and check that they are those of the runs."""
    from ngo.data.loading import train_labels

    of_partition: dict[str, list[str]] = {}
    for name in (*found.restored, *found.here):
        of_partition.setdefault(planned.runs[name].partition_id, []).append(name)
    for dataset in sorted({planned.partition_runs[each].dataset for each in of_partition}):
        try:
            prepare(dataset, root)
        except UserError as error:
            found.no_data[dataset] = str(error)
            continue
        manifest = f"results/data/{dataset}.json"
        if not Path(manifest).exists():
            write_text(manifest, manifest_text(dataset, len(train_labels(dataset, root))))
        found.files.append(manifest)
    for partition, names in sorted(of_partition.items()):
        spec = planned.partition_runs[partition]
        if spec.dataset in found.no_data:
            continue
        path = Path(f"results/partitions/{partition}.parquet")
        digest = parts_digest(_partition(path, spec, root))
        found.files.append(str(path))
        for name in names:
            if archive.runs[name].about["parts"] == digest:
                found.files.append(str(RUNS / name / earlier.METRICS))
            else:
                (found.restored if name in found.restored else found.here).remove(name)
                found.other_code.append(name)


def _partition(path: Path, spec: RunSpec, root: Path) -> Parts:
    """The partition in a file; it is drawn if there is none, or a damaged one."""
    from ngo.data.loading import train_labels
    from ngo.training.partition_file import draw, parts_by_owner, read, write

    if path.exists():
        try:
            return read(path, spec)
        except UserError:
            pass
    labels = train_labels(spec.dataset, root)
    parts = parts_by_owner(spec, root) or draw(spec, labels)
    write(path, spec, labels, parts)
    return parts
