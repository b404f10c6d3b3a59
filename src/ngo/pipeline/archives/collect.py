"""What an archive contains: all that tables and figures are made from, or the runs so far."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import ngo
from ngo.common import versions
from ngo.common.registry import UserError, unknown
from ngo.pipeline.archives.archive import Members, content_of
from ngo.pipeline.archives.members import ABOUT, WORKFLOW, named_members
from ngo.pipeline.archives.packed_runs import FinishedRun, is_finished, packed, read_run
from ngo.pipeline.archives.run_tables import ALL, run_tables
from ngo.pipeline.config_files import CONFIG, place, read_config
from ngo.pipeline.places import RUNS
from ngo.pipeline.plan import Plan, plan
from ngo.training.earlier import is_run
from ngo.training.results_version import results_version
from ngo.training.spec import RunSpec


def collect(configs: Sequence[Path], artefacts: Iterable[str] = ()) -> Members:
    """The files from which ``artefacts`` (by default all) and the assumptions are made.

    ``configs`` are the tier's config files, overlays last; results are read from ``results``. An
    archive for all artefacts has all runs of the configs. Raises a UserError for a missing file.
    """
    named = list(artefacts)
    config, planned, places = _planned(configs)
    shown = named or list(planned.artefacts)
    for name in shown:
        if name not in planned.artefacts:
            raise unknown("figure or table", name, planned.artefacts)
    tables = {table for name in shown for table in planned.tables(name)}
    trained = {k: specs for k, specs in planned.training.items() if k in tables.union(shown)}
    of_shown = {spec.id: spec for specs in trained.values() for spec in specs}
    specs = of_shown if named and ALL not in tables else planned.runs
    drawn = [spec for name in shown for spec in planned.partitions.get(name, ())]
    inputs = [path for name in shown for path in planned.inputs(name).values()]
    read = [path for each in inputs for path in ([each] if isinstance(each, str) else each)]
    joined = run_tables(planned)
    paths = [path for path in read if path not in joined]
    paths += [f"results/data/{spec.dataset}.json" for spec in [*specs.values(), *drawn]]
    about = {"artefacts": shown, "whole": not named}
    runs = [read_run(RUNS / run) for run in sorted(specs)]
    return _members(config, planned, places, paths, runs, about)


def collect_finished(configs: Sequence[Path]) -> tuple[Members, dict[str, int]]:
    """The finished runs of a campaign that may be unfinished, without tables; counts of runs.

    Runs of another results version and unfinished runs are left out. Raises a UserError if no run
    is left.
    """
    config, planned, places = _planned(configs)
    finished = [run for run in sorted(planned.runs) if is_finished(RUNS / run)]
    found = [read_run(RUNS / run) for run in finished]
    runs = [run for run in found if of_this_code(run, planned.runs[run.id])]
    if not runs:
        raise UserError(
            f"archive: none of the {len(planned.runs)} runs of the config is finished here with "
            "the present results version."
        )
    data = {f"results/data/{spec.dataset}.json" for spec in planned.runs.values()}
    data = {path for path in data if Path(path).exists()}
    counts = {
        "runs of the config": len(planned.runs),
        "packed": len(runs),
        "of another results version": len(found) - len(runs),
        "not finished": len(planned.runs) - len(found),
    }
    about = {"artefacts": [], "whole": False}
    return _members(config, planned, places, data, runs, about), counts


def of_this_code(run: FinishedRun, spec: RunSpec) -> bool:
    """Whether one process made ``run``, with these libraries, as today's ``spec`` would."""
    same = run.about["code"] == results_version(spec) and not versions.others(run.record)
    return same and is_run(run.about, spec)


def _planned(configs: Sequence[Path]) -> tuple[dict, Plan, dict[str, Path]]:
    """The config, its plan, and where its files are, by their names in the archive."""
    config = read_config(configs)
    planned = plan(config)
    if configs[0].name != CONFIG.name:
        raise UserError(f"config: {str(configs[0])!r} is first; {CONFIG.name} must be.")
    places = {place(path): path for path in configs}
    if len(places) < len(configs):
        raise UserError("config: two of the files have the same name.")
    return config, planned, places


def _members(
    config: Mapping,
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
        "config": config,
        "runs": len(runs),
        "ngo": ngo.__version__,
    }
    rules = sorted(Path("workflow/rules").glob("*.smk"))
    read = [*map(Path, paths), Path(WORKFLOW), Path("workflow/Snakefile"), *rules]
    places = {**configs, **{path.as_posix(): path for path in read}, **named_members(planned)}
    members = {name: content_of(path) for name, path in places.items()}
    members[ABOUT] = (json.dumps(described, indent=2) + "\n").encode()
    return members | packed(runs) if runs else members
