"""The provenance of an archive as a Workflow Run RO-Crate, profile 0.5.

``ro-crate-metadata.json`` describes the workflow and its software, and each run of it: when it was
made, by what, from what. Profile: https://w3id.org/ro/wfrun/workflow/0.5.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
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
PAPER = "Finite-Time Consensus Learning for Decentralized Optimization with Nonlinear Gossiping"
LANGUAGE = "https://w3id.org/workflowhub/workflow-ro-crate#snakemake"
SNAKEMAKE = "https://snakemake.github.io"
PYPI = "https://pypi.org/project"

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
    whole = _whole(members, about, runs)
    software = _software(runs)
    graph = [
        {
            "@id": CRATE,
            "@type": "CreativeWork",
            "about": _ref("./"),
            "conformsTo": _refs([SPECIFICATION, WORKFLOW_CRATE]),
        },
        {
            "@id": "./",
            "@type": "Dataset",
            "name": f"Metrics of the {about['tier']} tier of ngo",
            "description": f"Metrics and records of {len(runs)} training runs of a reproduction of "
            f"“{PAPER}”, with configs and what its tables and figures are made from.",
            "datePublished": whole["endTime"],
            "license": _ref(LICENSE),
            "conformsTo": _refs(PROFILES),
            "hasPart": _refs(map(_name, sorted(members))),
            "mainEntity": _ref(WORKFLOW),
            "mentions": _refs([whole["@id"], *(f"#{run['id']}" for run in runs)]),
        },
        *_profiles(),
        _workflow(),
        *software,
        whole,
        *(_action(members, run) for run in runs),
        *(_file(name, members[name]) for name in sorted(members) if name != WORKFLOW),
    ]
    (workflow,) = (entity for entity in graph if entity["@id"] == WORKFLOW)
    workflow |= _facts(members[WORKFLOW])
    # One entity a line: compact, and still to be read and compared.
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
    described = (name for name in sorted(members) if _name(name) in sums and name != CRATE)
    wrong = (name for name in described if sums[_name(name)] != _facts(members[name])["sha256"])
    return next((f"its sum of {name} is another" for name in wrong), None)


def _profiles() -> Iterator[Entity]:
    for url, (name, number) in PROFILES.items():
        yield {"@id": url, "@type": "CreativeWork", "name": name, "version": number}
    yield {"@id": LICENSE, "@type": "CreativeWork", "name": "MIT License"}


def _workflow() -> Entity:
    return {
        "@id": WORKFLOW,
        "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
        "name": "The pipeline of ngo",
        "programmingLanguage": _ref(LANGUAGE),
        "softwareRequirements": _ref("#ngo"),
    }


def _software(runs: list[Mapping]) -> list[Entity]:
    """The workflow's language, and the programs and versions that the runs record."""
    versions = {name: sorted({str(run["versions"][name]) for run in runs}) for name in _NAMED}
    needed = [f"{PYPI}/{name}/{each}/" for name in ("torch", "numpy") for each in versions[name]]
    needed += [f"#python-{each}" for each in versions["python"]]
    return [
        {
            "@id": LANGUAGE,
            "@type": "ComputerLanguage",
            "name": "Snakemake",
            "identifier": _ref(SNAKEMAKE),
            "url": _ref(SNAKEMAKE),
            "version": version("snakemake"),
        },
        {"@id": SNAKEMAKE, "@type": "WebSite", "name": "Snakemake"},
        _application(
            "#ngo",
            "ngo",
            ", ".join(versions["ngo"]),
            description="The command ngo train trains one run.",
            softwareRequirements=_refs(needed),
        ),
        *(
            _application(url := f"{PYPI}/{name}/{each}/", name, each, url=url)
            for name in ("torch", "numpy")
            for each in versions[name]
        ),
        *(
            _application(f"#python-{each}", "Python", each, url="https://www.python.org/")
            for each in versions["python"]
        ),
    ]


def _application(identifier: str, name: str, version: str, **more: object) -> Entity:
    named = {"@id": identifier, "@type": "SoftwareApplication", "name": name}
    return {**named, "softwareVersion": version, **more}


_NAMED = ("ngo", "python", "torch", "numpy")


def _whole(members: Mapping[str, bytes], about: Mapping, runs: list[Mapping]) -> Entity:
    """The execution of the workflow, from the start of its first run to the end of its last."""
    made = [name for name in sorted(members) if name.startswith("results/")]
    results = [name for name in made if not name.startswith("results/data/")]
    read = [*about["configs"], *(name for name in made if name not in results)]
    spans = [_span(run) for run in runs]
    return {
        "@id": "#workflow-run",
        "@type": "CreateAction",
        "name": f"The {about['tier']} tier",
        "description": f"{len(runs)} runs; source revision {revisions(runs)}",
        "startTime": min(start for start, _ in spans),
        "endTime": max(end for _, end in spans),
        "instrument": _ref(WORKFLOW),
        "object": _refs(map(_name, read)),
        "result": _refs(map(_name, results)),
    }


def _action(members: Mapping[str, bytes], run: Mapping) -> Entity:
    """The training of one run."""
    start, end = _span(run)
    processor, revision = run.get("processor", "unknown"), run.get("source") or "unknown"
    data = f"results/data/{run['spec']['dataset']}.json"
    read = [data] if data in members else []
    return {
        "@id": f"#{run['id']}",
        "@type": "CreateAction",
        "name": run["id"],
        "description": f"on {processor}; revision {revision}",
        "startTime": start,
        "endTime": end,
        "instrument": _ref("#ngo"),
        "object": _refs(map(_name, read)),
        "result": _refs([METRICS, RECORDS]),
    }


def _span(run: Mapping) -> tuple[str, str]:
    """When a run's last start was, and when it ended, in ISO 8601."""
    start = datetime.fromisoformat(run["started"])
    end = start + timedelta(seconds=run["wall_seconds"])
    return start.isoformat(timespec="seconds"), end.isoformat(timespec="seconds")


def _file(name: str, content: bytes) -> Entity:
    return {"@id": _name(name), "@type": "File", **_facts(content), **_format(name)}


def _facts(content: bytes) -> Entity:
    digest = hashlib.sha256(content).hexdigest()
    return {"contentSize": str(len(content)), "sha256": digest}


def _format(name: str) -> Entity:
    kind = _TYPES.get(name.rpartition(".")[2])
    return {"encodingFormat": kind} if kind else {}


def _name(member: str) -> str:
    return quote(member)


def _ref(identifier: str) -> Entity:
    return {"@id": identifier}


def _refs(identifiers: Iterable[str]) -> list[Entity]:
    return [_ref(each) for each in identifiers]
