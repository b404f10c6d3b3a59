"""Tables and figures of an archive, made again, and its runs, put back.

This repository's workflow makes tables and figures from the unpacked files. Nothing of the archive
is run: the Snakefile, the rules, the profile and the notebooks are the repository's, and no process
imports modules from the folder of the unpacked files.

The tidy tables of experiments follow from the runs. (Archives of earlier versions contain them.)
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, chdir, contextmanager, suppress
from pathlib import Path

from ngo.analysis import table_files
from ngo.analysis.universes import Universe, in_universes
from ngo.common.files import exclusive_lock, writable_folder
from ngo.pipeline.archives import finished_runs
from ngo.pipeline.archives.archive import Archive, Tell, archived_plan, deciding_members
from ngo.pipeline.archives.finished_runs import RECORDS
from ngo.pipeline.config import read_config
from ngo.pipeline.paths import LOCK, RUNS, tidy_table
from ngo.pipeline.plan import Plan, plan
from ngo.training.run_folder import CHECKPOINT, difference
from ngo.training.tidy import as_parquet, joined
from verdicts import members
from verdicts.files import content_of
from verdicts.members import refusing
from verdicts.registry import UserError, strange


def needed_tables(archive: Archive, planned: Plan) -> list[str]:
    """The names of those that the archive's tables and figures read."""
    shown = [name for name in archive.about["artefacts"] if name in planned.artefacts]
    read = {table for name in shown for table in planned.tables(name)}
    return [name for name in planned.run_tables.values() if name in read]


def absent_run(archive: Archive, planned: Plan, names: Iterable[str]) -> str | None:
    """The first run of the tables ``names`` that is not in the archive; None if all are."""
    runs = archive.runs if RECORDS in archive.members else {}
    needed = (spec.id for name in names for spec in planned.runs_of(name))
    return next((run for run in needed if run not in runs), None)


def relabelled(archive: Archive, planned: Plan) -> str | None:
    """The first run whose record has another value than the config; None if there is none."""
    for spec in planned.runs.values():
        run = archive.runs.get(spec.id)
        if run is not None and (other := difference(run.about, spec.values())):
            return f"{spec.id}: its record has {other}"
    return None


#: The name of a table, and the content of its file.
Table = tuple[str, bytes]


def joined_tables(archive: Archive, planned: Plan, names: Iterable[str]) -> Iterator[Table]:
    """The tidy tables of runs among ``names``, each with the bytes that the workflow would write.

    Raises a UserError for an absent run, for a record with other values than the config, for runs
    that can't be joined, and for too large tables.
    """
    known, left = planned.run_tables.values(), members.JOINED
    names = [name for name in names if name in known]
    wrong = relabelled(archive, planned) if names and RECORDS in archive.members else None
    for name in names:
        with refusing(archive.path):
            if wrong:
                raise UserError(wrong)
            if absent := absent_run(archive, planned, [name]):
                raise UserError(f"the run {absent} is not in it")
            left -= _size(archive, planned, name)
            if left < 0:
                raise UserError("the tables of its runs are too large")
            with strange("its runs can't be joined"):
                table = _joined(archive, planned, name)
        yield name, table


def _size(archive: Archive, planned: Plan, name: str) -> int:
    """The bytes of a table with its numbers as text, before it is joined."""
    runs = tuple(spec.id for spec in planned.runs_of(name))
    return sum(
        len(run.columns["step"]) * len(f"{[*run.columns]}{run.facts}{universe.values}")
        for universe in planned.universes.get(name, [Universe(0, {}, runs)])
        for run in map(archive.runs.__getitem__, universe.runs)
    )


def _joined(archive: Archive, planned: Plan, name: str) -> bytes:
    runs = [archive.runs[spec.id] for spec in planned.runs_of(name)]
    table = joined([(run.columns, run.facts) for run in runs])
    if (universes := planned.universes.get(name)) is None:
        return as_parquet(table)
    return table_files.as_parquet(in_universes(table.to_pandas(use_threads=False), universes))


def unpack(archive: Archive, planned: Plan, out: str | Path) -> Path:
    """Unpack an archive of ``planned`` into ``out``/TIER-SUM; returns that folder.

    It has what the archive's tables and figures are made from. The sources of the workflow stay in
    the archive: nothing in the folder is run but the config's plugins, if they are trusted. Files
    of an existing folder are kept: a UserError if one of them has been changed.
    """
    if not archive.about["artefacts"]:
        advice = "has finished runs and no tables or figures; ngo restore puts the runs back"
        raise UserError(f"archive: {str(archive.path)!r} {advice}.")
    files, digest = _files(archive, planned), members.sha256(members.tar_of(archive.members))
    folder = writable_folder(out) / f"{archive.about['tier']}-{digest[:8]}"
    members.write_members(folder, files)
    for name, content in files.items():
        here = content_of(folder / name, "archive")
        if here != content:
            sums = f"expected sha256 {members.sha256(content)}, found {members.sha256(here)}"
            fault = f"has been changed since it was unpacked ({sums})"
            raise UserError(f"archive: {str(folder / name)!r} {fault}; remove the folder.")
    return folder


def _files(archive: Archive, planned: Plan) -> members.Members:
    """The files of the folder, by path."""
    files = {
        name: content
        for name, content in archive.members.items()
        if members.kind_of(name) is not members.SOURCES and name not in planned.run_tables
    }
    for name, content in joined_tables(archive, planned, needed_tables(archive, planned)):
        files[tidy_table(planned.tier, name)] = content
    # Pages of results read one file for each record.
    runs = archive.runs.values() if RECORDS in files else ()
    return files | {f"results/runs/{r.id}/run.json": r.record_text.encode() for r in runs}


PROFILE = Path("workflow/profiles/local")
SNAKEFILE = Path("Snakefile")


def command(folder: Path, about: Mapping, artefacts: Iterable[str]) -> Sequence[str]:
    """The command that makes ``artefacts``, tables and figures of an archive, in the repository.

    The archive is unpacked in ``folder``; ``about`` is its checked description. Only the rules of
    tables and figures are allowed, so nothing is trained or measured.
    """
    targets = [*artefacts, "assumptions", *["report"] * about["whole"]]
    overlays = [str((folder / name).resolve()) for name in about["configs"][1:]]
    return [
        *(sys.executable, "-P", "-m", "snakemake", *targets),
        *("--snakefile", str(SNAKEFILE.resolve())),
        *("--directory", str(folder)),
        *("--allowed-rules", *targets),
        *(["--configfile", *overlays] if overlays else []),
        *("--config", "device=cpu"),
        *("--workflow-profile", str(PROFILE.resolve())),
    ]


# What becomes of a run in an archive, in the order of the report.
RESTORED, HERE, OTHER_CODE, NOT_IN_CONFIG, MODELS = OUTCOMES = (
    *("restored", "here already", "of another results version", "not in the config"),
    "trained again for their models, which archives don't have",
)


@contextmanager
def chosen(
    archive: Archive, configs: Sequence[str | Path] = (), *, trusted: bool, tell: Tell
) -> Iterator[Plan]:
    """The plan of ``configs``, the user's own; without any, of those in the archive.

    The archive's plugins are imported only if they are ``trusted`` (see ``archived_plan``). The
    workflow needs the files that its configs name in this folder: a UserError unless they are here,
    as they are in the archive.
    """
    if configs:
        yield plan(read_config(configs))
        return
    here = Path.cwd()
    with archived_plan(archive, trusted=trusted, tell=tell) as planned, chdir(here):
        for name in sorted(deciding_members(planned)):
            place = Path(name)
            if not place.is_file() or place.read_bytes() != archive.members[name]:
                take = f"take it from there (tar xf {archive.path} {name})"
                advice = f"{take}, or name your own config (--config)"
                raise UserError(f"restore: {name!r} is not here as it is in the archive; {advice}.")
        yield planned


def restore(archive: Archive, planned: Plan) -> dict[str, list[str]]:
    """Write the runs of an archive that a plan has into ``results/runs``: the ids by ``OUTCOMES``.

    Only runs of the same values, results version and libraries are written. A damaged run that is
    here is replaced. Raises a UserError for an archive that is damaged, and while the workflow
    runs.
    """
    outcomes: dict[str, list[str]] = {outcome: [] for outcome in OUTCOMES}
    with ExitStack() as held:
        held.callback(exclusive_lock(LOCK).release)
        for name, run in sorted(archive.runs.items()):
            outcomes[_outcome(run, planned)].append(name)
        for name in outcomes[RESTORED]:
            finished_runs.write_run(RUNS / name, archive.runs[name])
            (RUNS / name / CHECKPOINT).unlink(missing_ok=True)
    return outcomes


def _outcome(run: finished_runs.FinishedRun, planned: Plan) -> str:
    if (spec := planned.runs.get(run.id)) is None:
        return NOT_IN_CONFIG
    if run.id in planned.snapshots:
        return MODELS
    if not finished_runs.of_this_code(run, spec):
        return OTHER_CODE
    with suppress(UserError):  # there is none, or a damaged one
        if finished_runs.of_this_code(finished_runs.read_run(RUNS / run.id), spec):
            return HERE
    return RESTORED


def told(outcomes: Mapping[str, list[str]], planned: Plan) -> str:
    """One line on the numbers of restored and other runs, by reason."""
    parts = [f"{len(outcomes[RESTORED])} runs restored"]
    parts += [f"{len(outcomes[why])} {why}" for why in OUTCOMES[1:] if outcomes[why]]
    left = len(planned.runs.keys() - {*outcomes[RESTORED], *outcomes[HERE]})
    return f"{', '.join(parts)}; {left} of the {planned.tier} tier's runs left to train"
