"""The files of a small paper (``template/``), written to a new folder."""

from __future__ import annotations

import json
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from verdicts.files import write_together
from verdicts.registry import UserError, check

TEMPLATE = Path(__file__).with_name("template")

#: What stands in the template's environment for the address of the judge.
JUDGE = "JUDGE"


def new(folder: Path, judge: str | None = None) -> None:
    """Write the template to a folder that is new or empty; it installs the judge from ``judge``."""
    fresh = not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))
    check(fresh, "folder", str(folder), "name a new one")
    address = judge or installed_from()
    files = [path for path in TEMPLATE.rglob("*") if path.is_file()]
    for path in (path for path in files if not {"__pycache__", ".snakemake"} & {*path.parts}):
        target = folder / path.relative_to(TEMPLATE)
        text = path.read_text(encoding="utf-8").replace(JUDGE, address)
        write_together(target.parent, {target.name: text}, ())


def installed_from() -> str:
    """The address that this judge was installed from; a UserError if that is not known."""
    if (TEMPLATE.parent / "pyproject.toml").is_file():  # a checkout
        return TEMPLATE.parent.as_uri()
    with suppress(PackageNotFoundError):
        told = json.loads(distribution("verdicts").read_text("direct_url.json") or "{}")
        if vcs := told.get("vcs_info"):
            place = f"#subdirectory={told['subdirectory']}" if "subdirectory" in told else ""
            return f"{vcs['vcs']}+{told['url']}@{vcs['commit_id']}{place}"
        if "url" in told:
            return str(told["url"])
    raise UserError("judge: it is not known where it was installed from; name it with --judge.")
