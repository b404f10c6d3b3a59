"""The members that an archive may have, by name and kind, and no others.

A member is data that the workflow reads, or provenance that nothing reads. Results that the
workflow makes from them (tables, figures, pages), Snakemake's own files and code other than the
config's plugins have no place in an archive.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from ngo.common.registry import UserError
from ngo.pipeline.archives import limits
from ngo.pipeline.archives.packed_runs import METRICS, RECORDS
from ngo.pipeline.config_files import CONFIG, PAPERS
from ngo.pipeline.paper import NGO, REPOSITORY, published
from ngo.pipeline.places import tidy_table
from ngo.training.results_version import named_files
from verdicts.registration import registration_path

if TYPE_CHECKING:
    from ngo.pipeline.plan import Plan

ABOUT = "archive.json"
SUMS = "SHA256SUMS"
CRATE = "ro-crate-metadata.json"
WORKFLOW = "Snakefile"

_NAME = r"\w[\w.+-]*"
_RULES = rf"workflow/(?:Snakefile|rules/{_NAME}\.smk)"
_CONFIG = rf"(?:{CONFIG.parent}|{PAPERS}/\w+)/{_NAME}\.yaml"
_TABLE = rf"results/{_NAME}/metrics/{_NAME}\.parquet"

#: The largest size of each kind of member, in bytes, by a pattern of its name.
_KINDS = {
    f"{ABOUT}|{re.escape(CRATE)}": limits.JSON,
    f"{SUMS}|{WORKFLOW}|{_RULES}|{_CONFIG}": limits.TEXT,
    rf"config/reference/{_NAME}\.csv|results/data/{_NAME}\.json": limits.TEXT,
    f"{METRICS}|{re.escape(RECORDS)}|{_TABLE}": limits.ARCHIVE,
}

#: Files that a config may name: claims, findings, graphs, and plugins.
_NAMED = rf"(?:{_NAME}/)*{_NAME}\.(?:yaml|yml|csv|txt|edgelist|adjlist|graphml|gml|json|mtx|py)"
#: A paper's figures are the repository's, whatever an archive has.
_NOT_NAMED = rf"(?:(?:results|logs|benchmarks|workflow|notebooks|profiles)|{PAPERS}/.*/figures)/.*"

CODE = ".py"


def check_member(name: str, size: int) -> None:
    """Raise a UserError for a member that no archive has, by its name and its size in bytes."""
    most = next((most for kind, most in _KINDS.items() if re.fullmatch(kind, name)), None)
    if most is None and re.fullmatch(_NAMED, name) and not re.fullmatch(_NOT_NAMED, name):
        most = limits.TEXT
    if most is None:
        raise UserError(f"{name[:200]!r} is no part of an archive")
    if size > most:
        raise UserError(f"{name!r} has {size} bytes; at most {most} are allowed")


def write_members(folder: Path, members: Mapping[str, bytes]) -> None:
    """Write members as files below ``folder``."""
    for name, content in members.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def is_config(name: str) -> bool:
    """Whether a member is where configs are."""
    return re.fullmatch(_CONFIG, name) is not None


def is_table(name: str) -> bool:
    """Whether a member is a table in parquet."""
    return re.fullmatch(f"{METRICS}|{_TABLE}", name) is not None


def is_workflow(name: str) -> bool:
    """Whether a member is a source of the workflow: provenance, which is never run."""
    return re.fullmatch(f"{WORKFLOW}|{_RULES}", name) is not None


def is_result(name: str) -> bool:
    """Whether a member is data in ``results``: all other members are what a plan is made from."""
    return name.startswith("results/")


def named_members(planned: Plan) -> dict[str, Path]:
    """The files that a config names, by their names in an archive, which are their paths.

    Raises a UserError for a file outside the working directory.
    """
    places = deciding_members(planned)
    places[inside("claims", planned.claims)] = Path(planned.claims)
    for path in planned.ledger.printed:  # read from the file of claims, which is inside
        places[inside("claims", str(path))] = path
    registered = registration_path(planned.claims)
    if registered.exists():
        places[inside("claims", str(registered))] = registered
    if planned.findings is not None:
        places[inside("findings", planned.findings)] = Path(planned.findings)
    return places


def deciding_members(planned: Plan) -> dict[str, Path]:
    """Those of the files that decide runs: plugins, and the files that runs name."""
    places = {inside("plugins", path): Path(path) for path in planned.plugins}
    for spec in planned.runs.values():
        files = named_files(spec.values())
        places |= {inside(key, str(path)): path for key, path in files.items()}
    return places


def inside(key: str, file: str) -> str:
    """The name in the archive of a file that the config names under ``key``: that name."""
    path = PurePosixPath(os.path.normpath(file))
    if path.is_absolute() or ".." in path.parts:
        raise UserError(
            f"{key}: {file!r} is outside the working directory; an archive can't contain it."
        )
    return str(path)


def check_expected(names: Mapping[str, object], planned: Plan, configs: list[str]) -> None:
    """Raise a UserError for the first member that an archive of this plan does not have."""
    numbers = {path for name in (NGO, planned.paper.name) for path in published(name, REPOSITORY)}
    known = {ABOUT, CRATE, METRICS, RECORDS}
    known |= {*configs, *numbers, *named_members(planned)}
    known |= {tidy_table(planned.tier, name) for name in planned.made}
    specs = [*planned.runs.values(), *planned.partition_runs.values()]
    known |= {f"results/data/{spec.dataset}.json" for spec in specs}
    for name in sorted(names):
        if name not in known and not is_workflow(name):
            raise UserError(f"{name!r} is no part of an archive of its config")
