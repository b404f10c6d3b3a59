"""What the workflow checks and writes before its first job.

As a module of another workflow, it is given values instead of config files. They are written to a
file, as an overlay of the repository's config: commands and pages read config files.

Light: the workflow imports this module at every start.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import yaml

from ngo.common.files import exclusive_lock, remove_partial, writable_folder, write_changed
from ngo.data import download
from ngo.measures.measurement import MEASUREMENTS
from ngo.pipeline.config import read_config
from ngo.pipeline.jobs import Drawing, Job
from ngo.pipeline.paths import CONFIG, LOCK, REPOSITORY, tier_folder
from ngo.pipeline.plan import Plan
from verdicts.registry import UserError


def module_files(given: Mapping) -> list[str]:
    """The config files of a module: the repository's base, and the overlay ``given``, written here.

    Raises a UserError for a base that is not a config.
    """
    base = REPOSITORY / CONFIG
    values = read_config([base])
    overlay = {key: value for key, value in given.items() if values.get(key, ()) != value}
    for key in ("claims", "findings"):  # files of the repository, unless they are here
        path = given.get(key, values[key])
        if isinstance(path, str) and not Path(path).exists():
            overlay[key] = os.path.relpath(REPOSITORY / path)
    tier = str(given.get("tier", values["tier"]))
    if Path(tier).name != tier:
        raise UserError(f"tier: {tier!r} is not allowed; it must be the name of a folder.")
    place = Path(tier_folder(tier), "config.yaml")
    write_changed(place, yaml.safe_dump(overlay, sort_keys=False, allow_unicode=True))
    return [os.path.relpath(base), str(place)]


ROOM = 2**20  # bytes: with less, jobs could not even write their logs

#: Snakemake's records: how files were made.
RECORDS = Path(".snakemake/metadata")

#: Rules and tables of the workflow: no experiment may have these names.
NAMES = {
    *("all", "tables", "figures", "training", "assumptions", "report", "runs"),
    *("data", "partition", "try_plugins", "train", "aggregate", "measure", "measure_alone"),
    "classes",
}

HELD: list[object] = []


def check(plan: Plan, configs: Iterable[str], *, forced: object) -> None:
    """Raise a UserError for what stops the workflow in this folder; nothing is changed here.

    ``forced``: Snakemake makes all files again, whatever it knows of them.
    """
    notebooks = (str(entry.notebook) for entry in plan.artefacts.values())
    for path in (*notebooks, *configs, plan.claims):
        if set("{}") & set(path):
            advice = "rename that folder or file, or start from the folder of the Snakefile"
            fault = "has a brace, which Snakemake reads as a wildcard"
            raise UserError(f"path: {path!r} {fault}; {advice}.")
    measured = tuple(f"{kind}_" for kind in (*MEASUREMENTS, "classes"))
    for name in plan.training.keys() - plan.figures.keys():
        if name in NAMES or name.startswith(measured):
            raise UserError(f"training: {name!r} is a name of the pipeline's own; choose another.")
    check_folders(plan.tier)
    folder = Path(tier_folder(plan.tier))
    unpacked = Path("archive.json").exists()  # in it only tables and figures are made
    if not (forced or unpacked or RECORDS.exists()) and any(folder.glob("*/*.parquet")):
        fault = f"is here without {RECORDS}, so Snakemake knows nothing of it"
        advice = "run once with --forceall (seconds: finished runs are not trained again)"
        raise UserError(f"results: {str(folder)!r} {fault}; {advice}.")


def check_folders(tier: str) -> None:
    """Raise a UserError if an existing folder of the results or logs is not writable."""
    writable_folder(Path.cwd(), "folder", ROOM)
    for key in filter(os.path.lexists, ("results", "logs")):
        for folder in (Path(key), *Path(key).glob("*/"), *Path(key, tier).glob("*/")):
            writable_folder(folder, key)


def begin(jobs: Sequence[Job], drawings: Sequence[Drawing], root: Path, tier: str) -> None:
    """Take the lock of this folder, check what the jobs read, and write their files.

    One Snakemake works in a folder at a time. The system drops the lock when the process ends.
    """
    from ngo.training.partition_file import check_shares

    HELD.append(exclusive_lock(LOCK))
    atexit.register(_tell_folders, tier)
    for folder in (*Path("results").glob("*/"), *Path("results").glob("*/*/")):
        remove_partial(folder)
    specs = [spec for job in jobs for spec in job.runs]
    for name in sorted({spec.dataset for spec in specs}.union(*(d.datasets for d in drawings))):
        download.check(name, root)
    check_shares(specs, root)
    write_files([*jobs, *drawings])


def write_files(jobs: Iterable[Job | Drawing]) -> None:
    """Write the files of jobs that are absent or have another content."""
    for job in jobs:
        write_changed(job.file, job.text)


def remove_damaged(tables: Iterable[str]) -> None:
    """Remove those of the workflow's own tables that are damaged, and say so."""
    from ngo.training.tidy import Damaged, read_tidy

    for path in filter(os.path.exists, tables):
        try:
            read_tidy(path)
        except Damaged as error:
            os.unlink(path)
            _tell(f"{error} It is removed, and made again when it is needed.")
        except UserError as error:  # it can't be read now
            _tell(error)


def _tell_folders(tier: str) -> None:
    """Report folders that are not writable; after a full disk, jobs may have left no logs."""
    try:
        check_folders(tier)
    except UserError as error:
        _tell(f"{error}; finished results are kept; run the same command to continue.")


def _tell(text: object) -> None:
    print(f"ngo: {text}", file=sys.stderr)
