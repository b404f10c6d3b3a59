"""The provenance of an archive as a Workflow Run RO-Crate, profile 0.5.

``ro-crate-metadata.json`` describes the workflow and its software, and the training of its runs:
on which data set and processor, by which revision, and when. Single runs are in the records, one
line each. Profile: https://w3id.org/ro/wfrun/workflow/0.5.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from importlib.metadata import version
from urllib.parse import quote

from ngo.pipeline.archives import strict_json
from ngo.pipeline.archives.packed_runs import METRICS, RECORDS, revisions

CRATE = "ro-crate-metadata.json"
WORKFLOW = "Snakefile"

CONTEXT = [
    "https://w3id.org/ro/crate/1.1/context",
    "https://w3id.org/ro/terms/workflow-run/context",
]
SPECIFICATION = "https://w3id.org/ro/crate/1.1"
WORKFLOW_CRATE = "https://w3id.org/workflowhub/workflow-ro-crate/1.0"
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
    WORKFLOW_CRATE: ("Workflow RO-Crate", "1.0"),
}
LICENSE = "https://spdx.org/licenses/MIT"
LANGUAGE = "https://w3id.org/workflowhub/workflow-ro-crate#snakemake"
SNAKEMAKE = "https://snakemake.github.io"
PYPI = "https://pypi.org/project"
PYTHON = "https://www.python.org/"
PROGRAM = "SoftwareApplication"

_TYPES = {"json": "application/json", "yaml": "application/yaml", "csv": "text/csv",
          "parquet": "application/vnd.apache.parquet", "xz": "application/x-xz",
          "py": "text/x-python", "smk": "text/plain"}  # fmt: skip

Entity = dict[str, object]


def crate(
    members: Mapping[str, bytes], about: Mapping[str, object], records: Iterable[Mapping]
) -> bytes:
    """``ro-crate-metadata.json`` for an archive of ``members``.

    ``about`` is what ``archive.json`` says, and ``records`` are those of the runs. The same
    arguments give the same bytes.
    """
    runs = sorted(records, key=lambda record: record["id"])
    whole, parts = _whole(members, about, runs), _trainings(members, runs)
    description = (
        f"Metrics and records of {len(runs)} training runs of the {about['tier']} tier, with "
        "configs and what its tables and figures are made from."
    )
    graph = [
        _entity(
            CRATE,
            "CreativeWork",
            about=_ref("./"),
            conformsTo=_refs([SPECIFICATION, WORKFLOW_CRATE]),
        ),
        _entity(
            "./",
            "Dataset",
            name=f"Metrics of the {about['tier']} tier of ngo",
            description=description,
            datePublished=whole["endTime"],
            license=_ref(LICENSE),
            conformsTo=_refs(PROFILES),
            hasPart=_refs(map(quote, sorted(members))),
            mainEntity=_ref(WORKFLOW),
            mentions=_refs(each["@id"] for each in (whole, *parts)),
        ),
        *(
            _entity(url, "CreativeWork", name=name, version=number)
            for url, (name, number) in PROFILES.items()
        ),
        _entity(LICENSE, "CreativeWork", name="MIT License"),
        _workflow(members[WORKFLOW]),
        *_software(runs),
        whole,
        *parts,
        *(_file(name, members[name]) for name in sorted(members) if name != WORKFLOW),
    ]
    # One entity a line: compact, and easy to compare.
    lines = ",\n".join(json.dumps(each, ensure_ascii=False) for each in graph)
    return f'{{"@context": {json.dumps(CONTEXT)}, "@graph": [\n{lines}\n]}}\n'.encode()


def crate_fault(members: Mapping[str, bytes], runs: bool) -> str | None:
    """What is wrong with the provenance of an archive that has ``runs``; None if nothing is."""
    if CRATE not in members:
        return f"{CRATE} is missing" if runs else None
    try:
        graph = strict_json.parsed(members[CRATE])["@graph"]
        sums = {entity["@id"]: entity.get("sha256") for entity in graph}
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        return f"{CRATE} can't be read ({error})"
    described = (name for name in sorted(members) if quote(name) in sums and name != CRATE)
    wrong = (name for name in described if sums[quote(name)] != _facts(members[name])["sha256"])
    return next((f"its sum of {name} is another" for name in wrong), None)


def _workflow(content: bytes) -> Entity:
    return _entity(
        WORKFLOW,
        ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
        name="The pipeline of ngo",
        programmingLanguage=_ref(LANGUAGE),
        softwareRequirements=_ref("#ngo"),
        **_facts(content),
    )


def _software(runs: list[Mapping]) -> list[Entity]:
    """The workflow's language, and the programs and versions that the runs record."""
    versions = {name: sorted({str(run["versions"][name]) for run in runs}) for name in _NAMED}
    used = [
        _entity(url := f"{PYPI}/{name}/{each}/", PROGRAM, name=name, softwareVersion=each, url=url)
        for name in ("torch", "numpy")
        for each in versions[name]
    ]
    used += [
        _entity(f"#python-{each}", PROGRAM, name="Python", softwareVersion=each, url=PYTHON)
        for each in versions["python"]
    ]
    return [
        _entity(
            LANGUAGE,
            "ComputerLanguage",
            name="Snakemake",
            identifier=_ref(SNAKEMAKE),
            url=_ref(SNAKEMAKE),
            version=version("snakemake"),
        ),
        _entity(SNAKEMAKE, "WebSite", name="Snakemake"),
        _entity(
            "#ngo",
            PROGRAM,
            name="ngo",
            softwareVersion=", ".join(versions["ngo"]),
            description="The command ngo train trains one run.",
            softwareRequirements=_refs(each["@id"] for each in used),
        ),
        *used,
    ]


_NAMED = ("ngo", "python", "torch", "numpy")


def _whole(members: Mapping[str, bytes], about: Mapping, runs: list[Mapping]) -> Entity:
    """The execution of the workflow, from the start of its first run to the end of its last."""
    made = [name for name in sorted(members) if name.startswith("results/")]
    results = [name for name in made if not name.startswith("results/data/")]
    read = [*about["configs"], *(name for name in made if name not in results)]
    spans = [_span(run) for run in runs]
    return _entity(
        "#workflow-run",
        "CreateAction",
        name=f"The {about['tier']} tier",
        description=f"{len(runs)} runs; source revision {revisions(runs)}",
        startTime=min(start for start, _ in spans),
        endTime=max(end for _, end in spans),
        instrument=_ref(WORKFLOW),
        object=_refs(map(quote, read)),
        result=_refs(map(quote, results)),
    )


def _trainings(members: Mapping[str, bytes], runs: list[Mapping]) -> list[Entity]:
    """The training of all runs on one data set, by one revision on one kind of processor."""
    groups: dict[tuple[str, str, str], list[Mapping]] = {}
    for run in runs:
        made_by = run.get("processor") or "unknown", run.get("source") or "unknown"
        dataset = run["spec"].get("dataset") or "unknown data"
        groups.setdefault((dataset, *made_by), []).append(run)
    return [_training(members, *key, groups[key], k) for k, key in enumerate(sorted(groups), 1)]


def _training(
    members: Mapping[str, bytes],
    dataset: str,
    processor: str,
    revision: str,
    runs: list[Mapping],
    number: int,
) -> Entity:
    spans = [_span(run) for run in runs]
    count = f"{len(runs)} run{'s' * (len(runs) != 1)}"
    data = f"results/data/{dataset}.json"
    return _entity(
        f"#training-{number}",
        "CreateAction",
        name=f"Training on {dataset}",
        description=f"{count} on {processor}; revision {revision}",
        startTime=min(start for start, _ in spans),
        endTime=max(end for _, end in spans),
        instrument=_ref("#ngo"),
        object=_refs([quote(data)] if data in members else []),
        result=_refs([METRICS, RECORDS]),
    )


def _span(run: Mapping) -> tuple[str, str]:
    """When a run's last start was, and when it ended, in ISO 8601."""
    start = datetime.fromisoformat(run["started"])
    end = start + timedelta(seconds=run["wall_seconds"])
    return start.isoformat(timespec="seconds"), end.isoformat(timespec="seconds")


def _file(name: str, content: bytes) -> Entity:
    kind = _TYPES.get(name.rpartition(".")[2])
    encoding = {"encodingFormat": kind} if kind else {}
    return _entity(quote(name), "File", **_facts(content), **encoding)


def _facts(content: bytes) -> Entity:
    digest = hashlib.sha256(content).hexdigest()
    return {"contentSize": str(len(content)), "sha256": digest}


def _entity(identifier: str, kind: str | list[str], /, **properties: object) -> Entity:
    return {"@id": identifier, "@type": kind, **properties}


def _ref(identifier: object) -> Entity:
    return {"@id": identifier}


def _refs(identifiers: Iterable[object]) -> list[Entity]:
    return [_ref(each) for each in identifiers]
