"""Metrics archives: everything that tables and figures are made from, in one verified file.

An archive is an uncompressed tar file of tidy metrics, configs, plugins, the paper's numbers and
the records of runs; it contains no weights. ``archive.json`` describes it; ``SHA256SUMS`` lists the
sums of all other members in the format of ``sha256sum``. Archives are deterministic: the same
members give the same bytes, so an archive is intact if packing its members reproduces it.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

import ngo
from ngo.common.files import PARTIAL, atomic_file
from ngo.common.paths import writable_folder
from ngo.common.registry import UserError
from ngo.pipeline.artefacts import ARTEFACTS, artefacts_of, tidy_table
from ngo.pipeline.config_files import CONFIG, read_config
from ngo.pipeline.plan import plan

ABOUT = "archive.json"
SUMS = "SHA256SUMS"

# By name in the archive, which is the path in the folder where it is unpacked.
Members = dict[str, bytes]


def collect(
    configs: Sequence[Path], artefacts: Iterable[str] = (), schema: str | Path | None = None
) -> Members:
    """The files from which ``artefacts`` (by default all) and the assumptions are made.

    ``configs`` are the tier's config files, overlays last; results are read from ``results``.
    Raises a UserError for a missing file, and for metrics of runs that the configs do not contain.
    """
    named = list(artefacts)
    config = read_config(configs)
    planned = plan(config, schema)
    shown = {name: ARTEFACTS[name] for name in named or artefacts_of(planned.training)}
    trained = {name for name in shown if name in planned.training}
    trained |= {table for name in shown for table in planned.tables(name)}
    tier = planned.tier
    if configs[0].name != CONFIG.name:
        raise UserError(f"config: {str(configs[0])!r} is first; {CONFIG.name} must be.")
    places = {f"{CONFIG.parent}/{path.name}": path for path in configs}
    if len(places) < len(configs):
        raise UserError("config: two of the files have the same name.")

    runs = {spec.id: spec for name in sorted(trained) for spec in planned.training.get(name, ())}
    drawn = [spec for name in shown for spec in planned.partitions.get(name, ())]
    about = {
        "tier": tier,
        "artefacts": list(shown),
        "whole": not named,
        "configs": list(places),
        "config": config,
        "runs": len(runs),
        "ngo": ngo.__version__,
    }
    inputs = [path for name in shown for path in planned.inputs(name).values()]
    paths = [path for each in inputs for path in ([each] if isinstance(each, str) else each)]
    paths += [] if named else [tidy_table(tier, "runs")]
    paths += [f"results/runs/{run}/run.json" for run in runs]
    paths += [f"results/data/{spec.dataset}.json" for spec in [*runs.values(), *drawn]]
    places |= {path: Path(path) for path in paths}
    places |= {_carried("plugins", path): Path(path) for path in planned.plugins}
    places[_carried("claims", planned.claims)] = Path(planned.claims)  # the workflow checks it
    for name in sorted(trained):
        _check_runs(Path(tidy_table(tier, name)), planned.training.get(name))
    members = {name: _content(path) for name, path in places.items()}
    return {**members, ABOUT: (json.dumps(about, indent=2) + "\n").encode()}


def _carried(key: str, file: str) -> str:
    """The name in the archive of a file that the config names under ``key``: that name."""
    path = PurePosixPath(os.path.normpath(file))
    if path.is_absolute() or ".." in path.parts:
        raise UserError(
            f"{key}: {file!r} is outside the working directory; an archive can't contain it."
        )
    return str(path)


def write_archive(path: str | Path, members: Members) -> str:
    """Write an archive of ``members``; returns its SHA-256."""
    content = _packed(members)
    with atomic_file(path) as temporary:
        temporary.write_bytes(content)
    return _sum(content)


def read_archive(path: str | Path) -> Members:
    """The members of an archive; a UserError that names the first fault in it."""
    content = _content(Path(path))
    members: Members = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            for entry in archive:
                _check_entry(entry, members)
                members[entry.name] = archive.extractfile(entry).read()
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise _refused(path, f"it is not a metrics archive, or it is truncated ({error})") from None
    except UserError as error:
        raise _refused(path, str(error)) from None
    sums = members.pop(SUMS, None)
    if sums is None:
        raise _refused(path, f"it has no {SUMS}; it is not a metrics archive, or it is truncated")
    _check_sums(path, _listed(path, sums), members)
    packed = _packed(members)
    if packed != content:
        first = next(
            (k for k, (a, b) in enumerate(zip(packed, content, strict=False)) if a != b),
            min(len(packed), len(content)),
        )
        raise _refused(
            path,
            f"from byte {first} on, it differs from an archive of its members (expected sha256 "
            f"{_sum(packed)}, found {_sum(content)})",
        )
    if ABOUT not in members:
        raise _refused(path, f"it has no {ABOUT}")
    return members


def unpack(path: str | Path, out: str | Path) -> Path:
    """Verify an archive, and unpack it into ``out``/TIER-SUM; returns that folder.

    The folder appears only when it is complete. An existing folder must contain the archive's files
    unchanged. Raises a UserError if the archive or the folder has been changed.
    """
    members = read_archive(path)
    tier = PurePosixPath(json.loads(members[ABOUT])["tier"]).name
    folder = writable_folder(out) / f"{tier}-{_sum(_packed(members))[:8]}"
    if not folder.exists():
        temporary = Path(tempfile.mkdtemp(prefix=PARTIAL, dir=out))
        try:
            for name, content in members.items():
                target = temporary / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
            temporary.chmod(0o755)
            temporary.replace(folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    for name, content in members.items():
        found = _content(folder / name)
        if found != content:
            raise UserError(
                f"archive: {str(folder / name)!r} has been changed since it was unpacked (expected "
                f"sha256 {_sum(content)}, found {_sum(found)}); remove the folder."
            )
    return folder


def remaking(folder: Path) -> list[str]:
    """The arguments of Snakemake that make the tables and figures of an unpacked archive.

    They are for the repository's folder. Only the rules of tables and figures are allowed, so
    nothing is trained or measured.
    """
    about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    targets = [*about["artefacts"], "assumptions"]
    if about["whole"]:
        targets.append("report")
    overlays = [str((folder / name).resolve()) for name in about["configs"][1:]]
    return [
        *targets,
        "--directory",
        str(folder),
        "--allowed-rules",
        *targets,
        *(["--configfile", *overlays] if overlays else []),
        "--config",
        "device=cpu",
    ]


def _packed(members: Mapping[str, bytes]) -> bytes:
    """The archive of ``members``: the sums, then the members sorted by name.

    It has no times and no owners. It is not compressed, since its large members are.
    """
    ordered = dict(sorted((name, content) for name, content in members.items()))
    sums = "".join(f"{_sum(content)}  {name}\n" for name, content in ordered.items())
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in {SUMS: sums.encode(), **ordered}.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return file.getvalue()


def _check_entry(entry: tarfile.TarInfo, members: Members) -> None:
    """Raise a UserError for a member that no archive may have."""
    path = PurePosixPath(entry.name)
    if path.is_absolute() or ".." in path.parts or "\\" in entry.name:
        raise UserError(f"{entry.name!r} is a path outside the folder")
    if not entry.isreg():
        raise UserError(f"{entry.name!r} is not a regular file")
    if entry.name in members:
        raise UserError(f"{entry.name!r} occurs twice")


def _listed(path: str | Path, sums: bytes) -> dict[str, str]:
    """The sums of the members by name."""
    try:
        pairs = [line.split("  ", 1) for line in sums.decode().splitlines()]
        return {name: value for value, name in pairs}
    except ValueError:
        raise _refused(path, f"{SUMS} has a line without a sum and a name") from None


def _check_sums(path: str | Path, wanted: Mapping[str, str], members: Members) -> None:
    for name in sorted(wanted.keys() - members.keys()):
        raise _refused(path, f"{name!r} is missing (expected sha256 {wanted[name]})")
    for name in sorted(members.keys() - wanted.keys()):
        raise _refused(path, f"{name!r} is not listed in {SUMS}")
    for name, content in members.items():
        if _sum(content) != wanted[name]:
            raise _refused(
                path,
                f"{name!r} has been changed (expected sha256 {wanted[name]}, found "
                f"{_sum(content)})",
            )


def _check_runs(table: Path, specs: Iterable | None) -> None:
    """Raise a UserError if an experiment's tidy table has other runs than ``specs``."""
    if specs is None or not table.exists():
        return
    import pandas as pd

    if set(pd.read_parquet(table, columns=["run"])["run"]) != {spec.id for spec in specs}:
        raise UserError(
            f"config: {str(table)!r} has other runs than the config; run the pipeline again, "
            "or name the config that made it."
        )


def _refused(path: str | Path, reason: str) -> UserError:
    return UserError(f"archive: {str(path)!r} is refused: {reason}.")


def _sum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"archive: {str(path)!r} can't be read: {error.strerror}") from None
