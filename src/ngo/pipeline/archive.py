"""Metrics archives: everything that tables and figures are made from, in one verified file.

An archive is an uncompressed tar file of tidy metrics, finished runs, configs, plugins and the
paper's numbers (see ``ngo.pipeline.collect``); it contains no weights. ``archive.json`` describes
it; ``SHA256SUMS`` lists the sums of all other members in the format of ``sha256sum``. Archives are
deterministic: the same members give the same bytes, so an archive is intact if packing its members
reproduces it.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from ngo.common.files import PARTIAL, atomic_file
from ngo.common.paths import writable_folder
from ngo.common.registry import UserError
from ngo.pipeline import packed_runs
from ngo.pipeline.packed_runs import FinishedRun

ABOUT = "archive.json"
SUMS = "SHA256SUMS"

# By name in the archive, which is the path in the folder where it is unpacked.
Members = dict[str, bytes]


def write_archive(path: str | Path, members: Members) -> str:
    """Write an archive of ``members``; returns its SHA-256."""
    content = _packed(members)
    with atomic_file(path) as temporary:
        temporary.write_bytes(content)
    return sha256(content)


def read_archive(path: str | Path) -> Members:
    """The members of an archive; a UserError that names the first fault in it."""
    content = content_of(Path(path))
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
            f"{sha256(packed)}, found {sha256(content)})",
        )
    if ABOUT not in members:
        raise _refused(path, f"it has no {ABOUT}")
    return members


def about_of(path: str | Path, members: Members) -> dict:
    """What ``archive.json`` says; a UserError if it lacks something."""
    try:
        about = json.loads(members[ABOUT])
        if not {"tier", "artefacts", "whole", "configs", "config"} <= about.keys():
            raise ValueError("it is not complete")
    except (ValueError, AttributeError) as error:
        raise _refused(path, f"{ABOUT} can't be read ({error})") from None
    return about


def runs_of(path: str | Path, members: Members) -> dict[str, FinishedRun]:
    """The finished runs in an archive, by id."""
    try:
        return packed_runs.unpacked(members)
    except UserError as error:
        raise _refused(path, str(error)) from None


def unpack(path: str | Path, out: str | Path) -> Path:
    """Verify an archive, and unpack it into ``out``/TIER-SUM; returns that folder.

    The records of runs become files of their own. The folder appears only when it is complete. An
    existing folder must contain these files unchanged. Raises a UserError if the archive or the
    folder has been changed.
    """
    members = read_archive(path)
    about = about_of(path, members)
    if not about["artefacts"]:
        raise UserError(
            f"archive: {str(path)!r} has finished runs and no tables or figures; ngo restore puts "
            "the runs back."
        )
    tier = PurePosixPath(about["tier"]).name
    folder = writable_folder(out) / f"{tier}-{sha256(_packed(members))[:8]}"
    if packed_runs.RECORDS in members:  # one file for each, as pages of results read them
        members |= {
            f"results/runs/{run.id}/run.json": run.record_text.encode()
            for run in runs_of(path, members).values()
        }
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
        found = content_of(folder / name)
        if found != content:
            raise UserError(
                f"archive: {str(folder / name)!r} has been changed since it was unpacked (expected "
                f"sha256 {sha256(content)}, found {sha256(found)}); remove the folder."
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
    sums = "".join(f"{sha256(content)}  {name}\n" for name, content in ordered.items())
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
        if sha256(content) != wanted[name]:
            raise _refused(
                path,
                f"{name!r} has been changed (expected sha256 {wanted[name]}, found "
                f"{sha256(content)})",
            )


def _refused(path: str | Path, reason: str) -> UserError:
    return UserError(f"archive: {str(path)!r} is refused: {reason}.")


def sha256(content: bytes) -> str:
    """The SHA-256 of ``content``, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def content_of(path: Path) -> bytes:
    """The bytes of a file; a UserError if it can't be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"archive: {str(path)!r} can't be read: {error.strerror}") from None
