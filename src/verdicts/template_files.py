"""The files of a small paper (``template/``), written to a new folder."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path
from shutil import copytree, ignore_patterns

from verdicts.registry import UserError, check

TEMPLATE = Path(__file__).with_name("template")


def new(folder: Path, judge: str | None = None) -> None:
    """Write the template to a folder that is not there; it installs the judge from ``judge``."""
    check(not folder.exists(), "folder", str(folder), "name a new one")
    address = judge or installed_from()
    copytree(TEMPLATE, folder, ignore=ignore_patterns("__pycache__", ".snakemake"))
    environment = folder / "environment.yml"
    environment.write_text(environment.read_text().replace("JUDGE", address))


def installed_from() -> str:
    """The address that this judge was installed from; a UserError if that is not known."""
    if (TEMPLATE.parent / "pyproject.toml").is_file():  # a checkout
        return TEMPLATE.parent.as_uri()
    try:
        told = json.loads(metadata.distribution("verdicts").read_text("direct_url.json") or "")
    except (metadata.PackageNotFoundError, ValueError):
        raise UserError("judge: it is not known where it is from; name it (--judge).") from None
    url, of = str(told["url"]), told.get("vcs_info")
    return f"{of['vcs']}+{url}@{of['commit_id']}#subdirectory=src/verdicts" if of else url
