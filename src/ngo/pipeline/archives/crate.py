"""The provenance of an archive as a Workflow Run RO-Crate, profile 0.5.

``ro-crate-metadata.json`` describes the files, the workflow and its software, and the execution
that made the runs: on which processors, by which revisions, and when. Single runs are in the
records, one line each. Profile: https://w3id.org/ro/wfrun/workflow/0.5.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from importlib.metadata import version
from urllib.parse import quote

from ngo.pipeline.archives.packed_runs import revisions

CRATE = "ro-crate-metadata.json"
WORKFLOW = "Snakefile"

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
        file["contentSize"], file["sha256"] = str(len(content)), sha256(content).hexdigest()
        if name in about["configs"] or name.startswith("results/data/"):
            action.append_to("object", file)
        elif name.startswith("results/"):
            action.append_to("result", file)
    return json.dumps(made.metadata.generate(), indent=1, ensure_ascii=False).encode()


def crate_fault(members: Mapping[str, bytes], runs: bool) -> str | None:
    """What is wrong with the provenance of an archive that has ``runs``; None if nothing is."""
    if CRATE not in members:
        return f"{CRATE} is missing" if runs else None
    try:
        graph = json.loads(members[CRATE])["@graph"]
        sums = {entity["@id"]: entity.get("sha256") for entity in graph}
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        return f"{CRATE} can't be read ({error})"
    described = (name for name in sorted(members) if quote(name) in sums and name != CRATE)
    wrong = (name for name in described if sums[quote(name)] != sha256(members[name]).hexdigest())
    return next((f"its sum of {name} is another" for name in wrong), None)
