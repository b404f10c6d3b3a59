"""What an archive contains: all that tables and figures are made from, or the runs so far.

The provenance is a Workflow Run RO-Crate, profile 0.5 (https://w3id.org/ro/wfrun/workflow/0.5):
the files, the workflow and its software, and the execution that made the runs. Single runs are in
the records, one line each.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from importlib.metadata import version
from pathlib import Path

import ngo
from ngo.common.registry import UserError, unknown
from ngo.pipeline.archives.archive import (
    ABOUT,
    CRATE,
    WORKFLOW,
    Members,
    content_of,
    named_members,
    sha256,
)
from ngo.pipeline.archives.finished_runs import (
    FinishedRun,
    is_finished,
    of_this_code,
    packed,
    read_run,
    revisions,
)
from ngo.pipeline.config import read_config
from ngo.pipeline.experiments import as_list
from ngo.pipeline.paths import CONFIG, RUNS, archived_name, data_manifest
from ngo.pipeline.plan import ALL, Plan, plan


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
    drawn = [spec for name in shown for spec in planned.partitions.get(name, {}).values()]
    inputs = [path for name in shown for paths in planned.inputs(name).values()
              for path in as_list(paths)]  # fmt: skip
    paths = [path for path in inputs if path not in planned.run_tables]
    paths += [data_manifest(spec.dataset) for spec in [*specs.values(), *drawn]]
    about = {"artefacts": shown, "whole": not named}
    runs = [read_run(RUNS / run) for run in sorted(specs)]
    return _members(config, planned, places, paths, runs, about)


def collect_finished(configs: Sequence[Path]) -> tuple[Members, dict[str, int]]:
    """The finished runs of a campaign that may be unfinished, without tables; counts of runs.

    Runs of another results version and unfinished runs are left out. Raises a UserError if no run
    is left.
    """
    config, planned, places = _planned(configs)
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
    return _members(config, planned, places, data, runs, about), counts


def with_runs(
    members: Members, described: Mapping[str, object], runs: Sequence[FinishedRun]
) -> Members:
    """``members`` with ``runs`` in place of others, and the provenance of all.

    ``described`` is what ``archive.json`` says.
    """
    kept = {name: value for name, value in members.items() if name != CRATE}
    if not runs:  # measurements only: nothing was trained, and nothing has a date
        return kept
    kept |= packed(runs)
    return {**kept, CRATE: crate(kept, described, [run.record for run in runs])}


def _planned(configs: Sequence[Path]) -> tuple[dict, Plan, dict[str, Path]]:
    """The config, its plan, and where its files are, by their names in the archive."""
    config = read_config(configs)
    planned = plan(config)
    if configs[0].name != CONFIG.name:
        raise UserError(f"config: {str(configs[0])!r} is first; {CONFIG.name} must be.")
    places = {archived_name(path): path for path in configs}
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
    return with_runs(members, described, runs)


LICENCE = "https://spdx.org/licenses/MIT"
PROFILES = ("ro/wfrun/process/0.5", "ro/wfrun/workflow/0.5", "workflowhub/workflow-ro-crate/1.0")


def crate(members: Mapping[str, bytes], about: Mapping, records: Iterable[Mapping]) -> bytes:
    """``ro-crate-metadata.json`` for an archive of ``members``.

    ``about`` is what ``archive.json`` says, and ``records`` are those of the runs. The same
    arguments give the same bytes.
    """
    from rocrate.rocrate import ROCrate  # takes half a second, and few commands pack

    made, runs = ROCrate(version="1.1"), list(records)  # the version that the profile is for

    def add(identifier: str, kind: str, name: str, **facts: object) -> object:
        return made.add_jsonld({"@id": identifier, "@type": kind, "name": name, **facts})

    made.metadata.extra_contexts.append("https://w3id.org/ro/terms/workflow-run/context")
    made.name = f"Metrics of the {about['tier']} tier of ngo"
    made.description = f"Metrics and records of {len(runs)} training runs, with their configs."
    made.license = add(LICENCE, "CreativeWork", "MIT License")
    for path in PROFILES:
        _, name, number = path.rsplit("/", 2)
        profile = add(f"https://w3id.org/{path}", "CreativeWork", name, version=number)
        made.root_dataset.append_to("conformsTo", profile)
    workflow = made.add_workflow(
        dest_path=WORKFLOW, main=True, lang="snakemake", lang_version=version("snakemake")
    )
    for name in ("ngo", "python", "torch", "numpy"):
        used = sorted({run["versions"][name] for run in runs})
        program = add(f"#{name}", "SoftwareApplication", name, softwareVersion=used)
        workflow.append_to("softwareRequirements", program)
    action = made.add_action(workflow, "#workflow-run", properties={"name": "Training"})
    processors = ", ".join(sorted({run.get("processor") or "unknown" for run in runs}))
    action["description"] = f"{len(runs)} runs on {processors}; revision {revisions(runs)}"
    spans = [(datetime.fromisoformat(run["started"]), run["wall_seconds"]) for run in runs]
    ends = [start + timedelta(seconds=seconds) for start, seconds in spans]
    action["startTime"] = min(spans)[0].isoformat(timespec="seconds")
    action["endTime"] = made.datePublished = max(ends).isoformat(timespec="seconds")
    made.root_dataset["mentions"] = [action]
    for name, content in sorted(members.items()):
        file = workflow if name == WORKFLOW else made.add_file(dest_path=name)
        file["contentSize"], file["sha256"] = str(len(content)), sha256(content)
        if name in about["configs"] or name.startswith("results/data/"):
            action.append_to("object", file)
        elif name.startswith("results/"):
            action.append_to("result", file)
    return json.dumps(made.metadata.generate(), indent=1, ensure_ascii=False).encode()
