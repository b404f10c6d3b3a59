"""Restoring the finished runs of an archive, so that the workflow trains only the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from pathlib import Path

from ngo.common.files import exclusive_lock
from ngo.common.registry import UserError
from ngo.pipeline.archives.archive import Archive, Tell, archived_plan
from ngo.pipeline.archives.collect import of_this_code
from ngo.pipeline.archives.members import deciding_members
from ngo.pipeline.archives.packed_runs import FinishedRun, run_here, write_run
from ngo.pipeline.config_files import read_config
from ngo.pipeline.places import RUNS
from ngo.pipeline.plan import Plan, plan
from ngo.pipeline.start import LOCK

# What an interrupted run leaves (``ngo.training.checkpoint``, which imports torch).
CHECKPOINT = "checkpoint.pt"


# What becomes of a run in an archive, in the order in which it is told.
RESTORED, HERE, OTHER_CODE, NOT_IN_CONFIG, MODELS = OUTCOMES = (
    *("restored", "here already", "of another results version", "not in the config"),
    "trained again for their models, which archives don't have",
)


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


def restore(archive: Archive, planned: Plan) -> dict[str, list[str]]:
    """Write the runs of an archive that a plan has into ``results/runs``: the ids by ``OUTCOMES``.

    Only runs of the same values, results version and libraries are written. A damaged run that is
    here is replaced. Raises a UserError for an archive that is damaged, and while the workflow
    runs.
    """
    lock = exclusive_lock(LOCK)
    try:
        found: dict[str, list[str]] = {outcome: [] for outcome in OUTCOMES}
        for name, run in sorted(archive.runs.items()):
            found[_outcome(run, planned)].append(name)
        for name in found[RESTORED]:
            write_run(RUNS / name, archive.runs[name])
            (RUNS / name / CHECKPOINT).unlink(missing_ok=True)
    finally:
        lock.release()
    return found


def _outcome(run: FinishedRun, planned: Plan) -> str:
    spec = planned.runs.get(run.id)
    if spec is None:
        return NOT_IN_CONFIG
    if run.id in planned.snapshots:
        return MODELS
    if not of_this_code(run, spec):
        return OTHER_CODE
    here = run_here(RUNS / run.id)
    return HERE if here and of_this_code(here, spec) else RESTORED


def told(found: Mapping[str, list[str]], planned: Plan) -> str:
    """How many runs were restored, and how many were not, by reason."""
    parts = [f"{len(found[RESTORED])} runs restored"]
    parts += [f"{len(found[why])} {why}" for why in OUTCOMES[1:] if found[why]]
    left = len(planned.runs.keys() - {*found[RESTORED], *found[HERE]})
    return f"{', '.join(parts)}; {left} of the {planned.tier} tier's runs left to train"
