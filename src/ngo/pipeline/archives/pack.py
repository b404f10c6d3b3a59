"""The members of an archive: all inputs of tables and figures, or the runs so far."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import ngo
from ngo.pipeline.archives.archive import named_members
from ngo.pipeline.archives.finished_runs import (
    FinishedRun,
    is_finished,
    of_this_code,
    packed,
    read_run,
)
from ngo.pipeline.archives.members import ABOUT, WORKFLOW, Members
from ngo.pipeline.config import read_config
from ngo.pipeline.experiments import as_list
from ngo.pipeline.paths import CONFIG, RUNS, archived_name, data_manifest
from ngo.pipeline.plan import ALL, Plan, plan
from verdicts.files import content_of
from verdicts.registry import UserError, one_of


def collect(configs: Sequence[Path], artefacts: Iterable[str] = ()) -> Members:
    """The files from which ``artefacts`` (by default all) and the assumptions are made.

    ``configs`` are the tier's config files, overlays last; results are read from ``results``. An
    archive for all artefacts has all runs of the configs. Raises a UserError for a missing file.
    """
    named = list(artefacts)
    planned, places = _planned(configs)
    shown = named or list(planned.artefacts)
    for name in shown:
        one_of("figure or table", name, planned.artefacts)
    tables = {table for name in shown for table in planned.tables(name)}
    of_shown = {spec.id: spec for name in tables.union(shown) for spec in planned.runs_of(name)}
    specs = of_shown if named and ALL not in tables else planned.runs
    drawn = [spec for name in shown for spec in planned.partitions.get(name, {}).values()]
    inputs = [path for name in shown for paths in planned.inputs(name).values()
              for path in as_list(paths)]  # fmt: skip
    paths = [path for path in inputs if path not in planned.run_tables]
    paths += [data_manifest(spec.dataset) for spec in [*specs.values(), *drawn]]
    about = {"artefacts": shown, "whole": not named}
    runs = [read_run(RUNS / run) for run in sorted(specs)]
    return _members(planned, places, paths, runs, about)


def collect_finished(configs: Sequence[Path]) -> tuple[Members, dict[str, int]]:
    """The finished runs of a campaign that may be unfinished, without tables; counts of runs.

    Runs of another results version and unfinished runs are left out. Raises a UserError if no run
    is left.
    """
    planned, places = _planned(configs)
    every = [read_run(RUNS / run) for run in sorted(planned.runs) if is_finished(RUNS / run)]
    runs = [run for run in every if of_this_code(run, planned.runs[run.id])]
    if not runs:
        raise UserError(
            f"archive: none of the {len(planned.runs)} runs of the config is finished here with "
            "the present results version."
        )
    manifests = {data_manifest(spec.dataset) for spec in planned.runs.values()}
    data = filter(os.path.exists, manifests)
    counts = {
        "runs of the config": len(planned.runs),
        "packed": len(runs),
        "of another results version": len(every) - len(runs),
        "not finished": len(planned.runs) - len(every),
    }
    about = {"artefacts": [], "whole": False}
    return _members(planned, places, data, runs, about), counts


def _planned(configs: Sequence[Path]) -> tuple[Plan, dict[str, Path]]:
    """The plan, and where the files of its config are, by their names in the archive."""
    planned = plan(read_config(configs))
    if configs[0].name != CONFIG.name:
        raise UserError(f"config: {str(configs[0])!r} is first; {CONFIG.name} must be.")
    places = {archived_name(path): path for path in configs}
    if len(places) < len(configs):
        raise UserError("config: two of the files have the same name.")
    return planned, places


def _members(
    planned: Plan,
    configs: Mapping[str, Path],
    paths: Iterable[str],
    runs: Sequence[FinishedRun],
    about: Mapping[str, object],
) -> Members:
    """The ``configs``, ``paths``, the workflow's files, ``runs``, and what describes them."""
    described = {
        "tier": planned.tier,
        **about,
        "configs": [name for name in configs if name.endswith(".yaml")],
        "runs": len(runs),
        "ngo": ngo.__version__,
    }
    rules = sorted(Path("workflow/rules").glob("*.smk"))
    read = [*map(Path, paths), Path(WORKFLOW), Path("workflow/Snakefile"), *rules]
    places = {**configs, **{path.as_posix(): path for path in read}, **named_members(planned)}
    members = {name: content_of(path, "archive") for name, path in places.items()}
    members[ABOUT] = (json.dumps(described, indent=2) + "\n").encode()
    return members | (packed(runs) if runs else {})  # without runs: measurements only
