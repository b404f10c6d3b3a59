"""Metrics archives: everything that tables and figures are made from, in one verified file.

An archive has finished runs, measurements, configs, plugins and the paper's numbers, and no
weights: all inputs of tables and figures, or the runs so far. ``archive.json`` describes it. Its
members are data for the workflow, or provenance. Results of the workflow (tables, figures, pages),
Snakemake's files and code other than the config's plugins have no place in it.

An archive may be a stranger's: reading and unpacking one runs nothing of it (``members``).
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from pathlib import Path, PurePosixPath

import pandas as pd

import ngo
from ngo.pipeline import paths
from ngo.pipeline.archives import finished_runs
from ngo.pipeline.archives.finished_runs import FinishedRun
from ngo.pipeline.config import plugin_files, read_config, values_in
from ngo.pipeline.plan import ALL, Plan, plan
from ngo.report.findings import read_findings
from ngo.training.results_version import named_files
from ngo.training.run_folder import METRICS, RECORD
from verdicts import members
from verdicts.files import content_of, table_in
from verdicts.members import Members, inside, refusing
from verdicts.registration import read_registration, registration_path
from verdicts.registry import UserError, as_list, one_of, shown, strange

# The key of ``archive.json`` with the earlier revisions that made a marked archive.
OLDER = "older"

#: Provenance in archives of before; nothing reads it.
CRATE = "ro-crate-metadata.json"

#: Keys in configs of before; nothing reads them.
GONE = ("warm", "runs_per_gpu", "mixed_versions")

#: What any archive may have; other members must be asked for by its config.
ALWAYS = (members.ABOUT, CRATE, finished_runs.METRICS, finished_runs.RECORDS)

# Prints a line for the user.
Tell = Callable[[str], object]


@dataclass(frozen=True)
class Archive:
    """The members of an archive; what they say is checked when it is first asked for."""

    path: str | Path
    members: Members

    @cached_property
    def about(self) -> dict:
        """The content of ``archive.json``; a UserError if it does not describe the members."""
        with refusing(self.path, f"{members.ABOUT} can't be read ({{}})"):
            return described(self.members)

    @cached_property
    def runs(self) -> dict[str, FinishedRun]:
        """The finished runs by id; a UserError if there are none, or if they are damaged."""
        with refusing(self.path):
            return finished_runs.unpacked(self.members)

    def table(self, name: str) -> pd.DataFrame:
        """The table of this name."""
        with refusing(self.path), strange(f"{name!r} can't be read"):
            return table_in(self.members[name])


def read_archive(path: str | Path) -> Archive:
    """The archive at ``path``; a UserError that names the first fault in it."""
    return Archive(path, members.read(path))


def collect(configs: Sequence[Path], artefacts: Iterable[str] = ()) -> Members:
    """The files from which ``artefacts`` (by default all) and the assumptions are made.

    ``configs`` are the tier's config files, overlays last; results are read from ``results``. An
    archive for all artefacts has all runs of the configs. Raises a UserError for a missing file.
    """
    planned = _plan_of(configs)
    named = [one_of("figure or table", name, planned.artefacts) for name in artefacts]
    shown = named or list(planned.artefacts)
    needed = {*named, *(table for name in named for table in planned.tables(name))} or {ALL}
    specs = {spec.id: spec for name in needed for spec in planned.runs_of(name)}
    drawn = [spec for name in shown for spec in planned.partitions.get(name, {}).values()]
    inputs = [path for name in shown for read in planned.inputs(name).values()
              for path in as_list(read) if path not in planned.run_tables]  # fmt: skip
    inputs += [paths.data_manifest(spec.dataset) for spec in [*specs.values(), *drawn]]
    runs = [finished_runs.read_run(paths.RUNS / run) for run in sorted(specs)]
    return _collected(planned, configs, inputs, runs, {"artefacts": shown, "whole": not named})


def collect_finished(configs: Sequence[Path]) -> tuple[Members, dict[str, int]]:
    """The finished runs of a campaign that may be unfinished, without tables; counts of runs.

    Runs of another results version and unfinished runs are left out. Raises a UserError if no run
    is left.
    """
    planned = _plan_of(configs)
    folders = [paths.RUNS / run for run in sorted(planned.runs)]
    there = [all((path / name).is_file() for name in (RECORD, METRICS)) for path in folders]
    every = [finished_runs.read_run(path) for path in compress(folders, there)]
    runs = [run for run in every if finished_runs.of_this_code(run, planned.runs[run.id])]
    if not runs:
        fault = "is finished here with the present results version"
        raise UserError(f"archive: none of the {len(folders)} runs of the config {fault}.")
    manifests = {paths.data_manifest(spec.dataset) for spec in planned.runs.values()}
    counts = {
        "runs of the config": len(folders),
        "packed": len(runs),
        "of another results version": len(every) - len(runs),
        "not finished": len(folders) - len(every),
    }
    data, about = [*filter(os.path.exists, manifests)], {"artefacts": [], "whole": False}
    return _collected(planned, configs, data, runs, about), counts


def _plan_of(configs: Sequence[Path]) -> Plan:
    """The plan of config files that an archive can have."""
    planned = plan(read_config(configs))
    if configs[0].name != paths.CONFIG.name:
        raise UserError(f"config: {str(configs[0])!r} is first; {paths.CONFIG.name} must be.")
    if len({*map(paths.archived_name, configs)}) < len(configs):
        raise UserError("config: two of the files have the same name.")
    return planned


def _collected(
    planned: Plan, configs: Sequence[Path], data: list[str], runs: list[FinishedRun], about: dict
) -> Members:
    """The ``configs``, ``data``, the workflow's files, ``runs``, and what describes them."""
    places = {paths.archived_name(path): path for path in configs}
    described = {"tier": planned.tier, **about, "configs": [n for n in places if n[-5:] == ".yaml"]}
    described |= {"runs": len(runs), "ngo": ngo.__version__}
    rules = sorted(Path("workflow/rules").glob("*.smk"))
    read = [*map(Path, data), Path("Snakefile"), Path("workflow/Snakefile"), *rules]
    places |= {path.as_posix(): path for path in read} | named_members(planned)
    files = {name: content_of(path, "archive") for name, path in places.items()}
    files[members.ABOUT] = (json.dumps(described, indent=2) + "\n").encode()
    return files | (finished_runs.packed(runs) if runs else {})  # without runs: measurements only


def named_members(planned: Plan) -> dict[str, Path]:
    """The files that a config names, by their names in an archive: their paths.

    Raises a UserError for a file outside the working directory.
    """
    claims = [planned.claims, registration_path(planned.claims), *planned.ledger.printed]
    files = [("claims", path) for path in claims if Path(path).exists()]
    files += [("findings", planned.findings)] if planned.findings is not None else []
    return deciding_members(planned) | {inside(key, str(path)): Path(path) for key, path in files}


def deciding_members(planned: Plan) -> dict[str, Path]:
    """The files that decide runs: plugins, and files named by runs."""
    files = [("plugins", path) for path in planned.plugins]
    for spec in planned.runs.values():
        files += named_files(spec.values()).items()
    return {inside(key, str(path)): Path(path) for key, path in files}


def check_expected(names: Mapping[str, object], planned: Plan, configs: list[str]) -> None:
    """Raise a UserError for the first member that an archive of this plan does not have."""
    known = {*configs, *named_members(planned)}
    for folder in map(paths.reference_folder, (paths.NGO, planned.paper["name"])):
        published = (paths.REPOSITORY / folder).glob("*.csv")
        known |= {f"{folder}/{path.name}" for path in published}
    known |= {paths.tidy_table(planned.tier, name) for name in planned.made}
    specs = (spec for drawn in planned.drawn.values() for spec in drawn.values())
    known |= {paths.data_manifest(spec.dataset) for spec in specs}
    for name in sorted(names.keys() - known):
        if name not in ALWAYS and members.kind_of(name) is not members.SOURCES:
            raise UserError(f"{name!r} is no part of an archive of its config")


def described(files: Members) -> dict:
    """The description, with the tier and the config of the config files.

    Raises a UserError, without a key, for the first fault. The config names no file outside of the
    archive.
    """
    about = json.loads(files[members.ABOUT])
    if not isinstance(about, dict):
        raise UserError("it is not a mapping")
    for key, kind in {"artefacts": list, "whole": bool, "configs": list}.items():
        if type(about.get(key)) is not kind:
            raise UserError(f"{key!r} is {shown(about.get(key))}, which is no {kind.__name__}")
    for name in (*about["artefacts"], *about["configs"]):
        if not isinstance(name, str):
            raise UserError(f"{shown(name)} is no name")
    config = _config(about["configs"], files)
    _check_files(config, files)
    return {**about, "config": config, "tier": str(config.get("tier"))}


def _config(names: list[str], files: Members) -> dict:
    """The config of the members ``names``, the base first."""
    if absent := [name for name in names if name not in files]:
        raise UserError(f"the config {shown(absent[0])} is not in the archive")
    if names[:1] != [paths.CONFIG.as_posix()]:
        raise UserError(f"the first config must be {str(paths.CONFIG)!r}")
    with tempfile.TemporaryDirectory(prefix="ngo-config-") as folder, chdir(folder):
        members.write_members(Path(), {name: files[name] for name in names})
        return read_config(names)


# Texts in a config that name a file outside the working directory.
_OUTSIDE = re.compile(r"[/~\\]|(.*/)?\.\.(/|$)|[A-Za-z]:")


def _check_files(config: Mapping, files: Members) -> None:
    """Raise a UserError if the config names a file that is not in the archive.

    No text in it may be a path outside: plugins may add keys that name files. The root of the data
    sets is not read from an archive.
    """
    for _, value in values_in({k: part for k, part in config.items() if k != "data"}):
        if isinstance(value, str) and _OUTSIDE.match(value):
            raise UserError(f"its config names a path outside of it, {shown(value)}")
    for name in plugin_files(config):
        if str(PurePosixPath(name)) not in files:
            raise UserError(f"the plugin {name!r} is not in the archive")
    if other := sorted({n for n in files if n.endswith(".py")} - {*plugin_code(config)}):
        raise UserError(f"{other[0]!r} is code, and no plugin of the config")


def plugin_code(config: Mapping) -> list[str]:
    """The plugins of a config that are code, by their names in an archive."""
    return [str(PurePosixPath(name)) for name in plugin_files(config) if name.endswith(".py")]


@contextmanager
def archived_plan(archive: Archive, *, trusted: bool, tell: Tell) -> Iterator[Plan]:
    """The plan of an archive's config, in a temporary folder with what the config is made from.

    The folder is the working directory until the end: relative paths of plugins and graphs are
    those in the archive. ``tell`` gets a line for each plugin before it runs. Raises a UserError
    for plugins without trust, for a wrong config, and for members that it does not need.
    """
    for name in plugin_code(archive.about["config"]):
        plugin = f"{name!r} (sha256 {members.sha256(archive.members[name])})"
        if not trusted:
            advice = "which is code. Read it, and add --trust-plugins to run it"
            raise UserError(f"archive: {str(archive.path)!r} has the plugin {plugin}, {advice}.")
        tell(f"runs the plugin {plugin} of the archive")
    read = {
        name: content
        for name, content in archive.members.items()
        if not name.startswith("results/") and members.kind_of(name) is not members.SOURCES
    }
    with tempfile.TemporaryDirectory(prefix="ngo-archive-") as folder, chdir(folder):
        members.write_members(Path(), read)
        yield _planned(archive)


def _planned(archive: Archive) -> Plan:
    """The checked plan, in the folder of its files."""
    about = archive.about
    with refusing(archive.path), strange("its config can't be planned"):
        planned = plan({k: v for k, v in about["config"].items() if k not in GONE})
        check_expected(archive.members, planned, about["configs"])
        planned.ledger  # noqa: B018 (its file is checked)
        read_registration(registration_path(planned.claims))
        if planned.findings is not None:
            read_findings(planned.findings)
        if not {*about["artefacts"]} <= {*planned.artefacts, *planned.figures}:
            raise UserError("archive.json names a figure that its config and the paper do not have")
    return planned
