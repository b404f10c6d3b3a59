"""Restoring the finished runs of an archive, so that the workflow trains only the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ngo.common.locks import exclusive_lock
from ngo.common.registry import UserError
from ngo.pipeline.archives.archive import Archive, Tell, archived_plan
from ngo.pipeline.archives.collect import of_this_code
from ngo.pipeline.archives.members import deciding_members
from ngo.pipeline.archives.packed_runs import revisions, run_here, write_run
from ngo.pipeline.config_files import read_config
from ngo.pipeline.places import RUNS
from ngo.pipeline.plan import Plan, plan
from ngo.pipeline.start import LOCK

# What an interrupted run leaves (``ngo.training.checkpoint``, which imports torch).
CHECKPOINT = "checkpoint.pt"


@dataclass
class Restored:
    """What became of the runs in an archive; each list has ids."""

    tier: str
    #: Written into ``results/runs``.
    restored: list[str] = field(default_factory=list)
    #: Finished there before, as they would be now.
    here: list[str] = field(default_factory=list)
    #: Of another results version than this package's, or made with other libraries.
    other_code: list[str] = field(default_factory=list)
    #: The source revisions of these runs.
    made_by: str = ""
    #: Not among the runs of the config.
    not_in_config: list[str] = field(default_factory=list)
    #: Runs whose models are needed: archives have none.
    models: list[str] = field(default_factory=list)
    #: How many runs of the config are left to train.
    missing: int = 0

    @property
    def line(self) -> str:
        """How many runs were restored, and how many were not, by reason."""
        parts = [f"{len(self.restored)} runs restored"]
        for found, reason in (
            (self.here, "here already"),
            (self.other_code, "of another results version"),
            (self.not_in_config, "not in the config"),
            (self.models, "trained again for their models, which archives don't have"),
        ):
            if found:
                parts.append(f"{len(found)} {reason}")
        return f"{', '.join(parts)}; {self.missing} of the {self.tier} tier's runs left to train"


@contextmanager
def chosen(
    archive: Archive, configs: Sequence[str | Path] = (), *, trusted: bool, tell: Tell
) -> Iterator[Plan]:
    """The plan of ``configs``, the user's own; without any, of those in the archive.

    The archive's plugins are imported only if they are ``trusted`` (see ``archive_plan``). The
    workflow needs the files that its configs name in this folder: a UserError unless they are here,
    as they are in the archive.
    """
    if configs:
        yield plan(read_config(configs))
        return
    here = Path.cwd()
    with archived_plan(archive, trusted=trusted, tell=tell) as planned, chdir(here):
        _check_here(archive, planned)
        yield planned


def _check_here(archive: Archive, planned: Plan) -> None:
    """Raise a UserError if a file that decides runs is not here as it is in the archive."""
    for name in sorted(deciding_members(planned)):
        place = Path(name)
        if not place.is_file() or place.read_bytes() != archive.members[name]:
            raise UserError(
                f"restore: {name!r} is not here as it is in the archive; take it from there "
                f"(tar xf {archive.path} {name}), or name your own config (--config)."
            )


def restore(archive: Archive, planned: Plan) -> Restored:
    """Write the runs of an archive that a plan has into ``results/runs``.

    Only runs of the same values, results version and libraries are written. Raises a UserError for
    an archive that is damaged, and while the workflow runs.
    """
    lock = exclusive_lock(LOCK)
    try:
        found = _sorted_out(archive, planned)
        for name in found.restored:
            write_run(RUNS / name, archive.runs[name])
            (RUNS / name / CHECKPOINT).unlink(missing_ok=True)
    finally:
        lock.release()
    finished = {*found.restored, *found.here}
    found.missing = len(planned.runs.keys() - finished)
    found.made_by = revisions(archive.runs[name].record for name in found.other_code)
    return found


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
