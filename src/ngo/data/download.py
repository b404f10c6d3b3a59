"""The data root: finds, verifies and downloads the files of data sets."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import tarfile
import tempfile
from functools import cache
from pathlib import Path

from ngo.common.files import writable_folder
from ngo.common.registries import DATASETS
from ngo.data.dataset import Download
from verdicts.files import regular_file
from verdicts.registry import UserError

DEFAULT_ROOT = "data"
ROOT_VARIABLE = "NGO_DATA"

_warn_once = cache(logging.getLogger("ngo").warning)


def data_root(given: str | Path | None = None, config: str | Path | None = None) -> Path:
    """The folder of the data sets: ``given``, else ``$NGO_DATA``, else that of the config."""
    named = given or os.environ.get(ROOT_VARIABLE) or config or DEFAULT_ROOT
    root = Path(os.path.expanduser(named))
    if os.path.exists(root) and not root.is_dir():
        raise UserError(f"data.root: {str(root)!r} is not a folder.")
    return root


def prepare(name: str, root: Path) -> Path:
    """Verify the data set's files below ``root``, make absent ones, and return ``root``.

    They come from an archive below ``root``, else from a download. They are made in a temporary
    folder first, and moved when all of them are complete.
    """
    source = DATASETS[name]
    if absent := check(name, root):
        writable_folder(root, "data.root")
        with tempfile.TemporaryDirectory(prefix=".download-", dir=root) as temporary:
            folder = Path(temporary)
            try:
                for download in source.downloads:
                    fetch(download, root, folder)
            except (OSError, RuntimeError, ValueError, tarfile.TarError) as error:
                raise _unavailable(name, root, absent, " ".join(str(error).split())) from error
            if failed := [file for file in verify(name, folder) if file in absent]:
                raise UserError(f"data.root: the download of {name} does not contain {failed[0]}")
            for file in absent:
                path = present(folder / file, len(source.files.get(file, ()))) or folder / file
                target = root / path.relative_to(folder)
                target.parent.mkdir(parents=True, exist_ok=True)
                if not target.is_dir():  # else another process was faster
                    path.replace(target)
    return root


def check(name: str, root: Path) -> list[str]:
    """The data set's absent files. Raises a UserError if a file is corrupt, or if files are absent,
    and can't be downloaded or made from archives below ``root``.

    If only a part of the release is present, logs a warning, once in a process.
    """
    absent, source = verify(name, root), DATASETS[name]
    needed = [download.url for download in source.downloads if _packed(download, root) is None]
    if absent and not source.downloads:
        raise _unavailable(name, root, absent, "it has no URL")
    if absent and needed:
        from urllib import request
        from urllib.error import HTTPError

        try:
            request.urlopen(needed[0], timeout=5).close()
        except HTTPError:
            pass  # the server answered, so there is a network
        except OSError as error:
            raise _unavailable(name, root, absent, "no network") from error
    elif not absent and (note := source.note(root)):
        _warn_once(note)
    return absent


def verify(name: str, root: Path) -> list[str]:
    """The data set's absent files. Raises a UserError if a file has the wrong checksum."""
    source, absent = DATASETS[name], []
    for relative, sums in source.files.items():
        if (path := present(root / relative, len(sums))) is not None:
            _verified(path, sums)
            continue
        if (root / relative).exists():
            regular_file(root / relative, "data.root")  # a pipe, for example, is refused
        absent.append(relative)
    if source.folder is not None and not (root / source.folder).is_dir():
        absent.append(source.folder)
    return absent


def fetch(download: Download, root: Path, folder: Path) -> None:
    """Put a file, or what it has packed, below ``folder``: that of ``root``, else a download."""
    if (packed := _packed(download, root)) is None:
        from torchvision.datasets.utils import download_url  # it takes seconds

        download_url(download.url, str(folder / download.folder), md5=download.md5)
        packed = folder / download.path
    if packed.name.endswith((".zip", ".tar.gz")):
        safe = {} if packed.suffix == ".zip" else {"filter": "data"}
        shutil.unpack_archive(packed, folder / download.folder, **safe)


def _packed(download: Download, root: Path) -> Path | None:
    """The file of a download below ``root``, verified; None if absent."""
    path = root / download.path
    return _verified(path, (download.md5,)) if path.is_file() else None


def _verified(path: Path, sums: tuple[str, ...]) -> Path:
    """The file; a UserError unless it has one of the sums, if there are any."""
    algorithm = "sha256" if sums and len(sums[0]) == 64 else "md5"
    if not sums or (now := digest(path, algorithm)) in sums:
        return path
    if algorithm == "sha256":
        raise UserError(
            f"data.root: the content of {str(path)!r} is not the described one: its digest is "
            f"{now[:12]}…, not {sums[0][:12]}…; restore it, or describe it again (ngo describe)."
        )
    raise UserError(
        f"data.root: {str(path)!r} is corrupt or truncated: its md5 is {now}, the release's "
        f"{' or '.join(sums)}. Remove it and run again to download it."
    )


def present(path: Path, forms: int) -> Path | None:
    """The file; if there are two ``forms`` of it, else ``path.gz``; None if it is absent."""
    return next((p for p in (path, Path(f"{path}.gz"))[: forms or 1] if p.is_file()), None)


def digest(path: Path, algorithm: str) -> str:
    """The file's digest by ``md5`` or ``sha256``, computed once in a process unless it changes."""
    facts = path.stat()
    return _digest(path.resolve(), algorithm, facts.st_size, facts.st_mtime_ns)


@cache
def _digest(path: Path, algorithm: str, size: int, modified: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


def _unavailable(name: str, root: Path, absent: list[str], reason: str) -> UserError:
    source = DATASETS[name]
    either = {file for file, sums in source.files.items() if len(sums) > 1}
    wanted = ", ".join(file + " (or .gz)" * (file in either) for file in absent)
    packed = [download.path for download in source.downloads if download.path[:-3] not in either]
    return UserError(
        f"data.root: {name} is not in {str(root)!r} and can't be downloaded ({reason}). Put "
        f"{' or '.join([wanted, *packed])} there, set {ROOT_VARIABLE} or --data-root to "
        f"a folder that has them, or try the pipeline without them: make demo."
    )
