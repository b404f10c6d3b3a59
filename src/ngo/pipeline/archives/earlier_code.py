"""The packages at an earlier revision of this checkout."""

from __future__ import annotations

import io
import re
import subprocess
import tarfile
from pathlib import Path

import ngo

CHECKOUT = Path(ngo.__file__).parents[2]


def earlier_package(source: object, folder: Path) -> Path | None:
    """The folder with the packages of the revision ``source``, unpacked into ``folder``.

    They are ``ngo`` and ``verdicts``: fingerprints cover both.
    ``source`` is what the record of a run says, and may be anything. None unless it names a commit
    before the present one in the checkout that holds the package. ``-dirty`` is ignored: whoever
    trains with the code compares its fingerprint.
    """
    named = re.fullmatch("([0-9a-f]{40})(-dirty)?", str(source))
    if named is None:
        return None
    revision = named[1]
    package = folder / revision / "src"
    if package.exists():
        return package
    try:
        _git("merge-base", "--is-ancestor", revision, "HEAD")
        content = _git("archive", "--format=tar", revision, "src")
    except (OSError, subprocess.CalledProcessError):
        return None
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        archive.extractall(folder / revision, filter="data")
    return package


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=CHECKOUT, capture_output=True, check=True).stdout
