"""A paper is a folder: its config, claims, published numbers and notebooks.

The config's section ``paper`` names it, and says who claims what. The folder is ``papers/NAME`` in
the working directory, or else in the package's repository. The NGO paper has its config and its
notebooks at the top of the repository.

A config may be a stranger's: its paper's name only selects a folder that is here already.

Light: the workflow imports this module at every start.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import ngo
from ngo.common.registry import unknown
from ngo.pipeline.config_files import CONFIG, PAPERS, read_config

NGO = "ngo"
"""The paper whose config is the base of all configs."""

PACKAGE = Path(ngo.__file__).parent
REPOSITORY = PACKAGE.parents[1]

NO_CLAIMS = "config/reference/no_claims.yaml"
"""A file of claims that has none."""


@dataclass(frozen=True)
class Paper:
    """The section ``paper`` of a config."""

    #: The folder in ``papers``; empty for a study of a user's own.
    name: str
    title: str
    authors: str
    #: Where it can be read; empty if it is nowhere online.
    address: str
    #: What it claims, in a sentence.
    claim: str


def config_of(name: str) -> Path:
    """The config of a paper, from the repository."""
    return CONFIG if name == NGO else PAPERS / name / CONFIG.name


@cache
def figures_of(name: str) -> Mapping[str, Mapping]:
    """The section ``figures`` of a paper's config in the repository; empty if it has none.

    Configs from before there was one have these figures.
    """
    path = REPOSITORY / config_of(name)
    return read_config([path]).get("figures", {}) if path.exists() else {}


def notebook_of(paper: str, name: str) -> Path:
    """The notebook of a figure: the paper's own or a shared one, here or in the repository."""
    folders = (PAPERS / paper / "notebooks", Path("notebooks"))
    places = [
        root / folder / f"{name}.ipynb" for root in (Path(), REPOSITORY) for folder in folders
    ]
    found = next((place for place in places if place.exists()), places[1])
    return Path(os.path.relpath(found))


def reference(name: str) -> str:
    """The folder with a paper's published numbers, as CSV files: here, or in the repository."""
    folder = _reference(name)
    return folder if Path(folder).is_dir() else os.path.relpath(REPOSITORY / folder)


def published(name: str, root: Path = Path()) -> list[str]:
    """The files with the published numbers of a paper that are in ``root``, as paths from there."""
    files = (root / _reference(name)).glob("*.csv")
    return sorted(path.relative_to(root).as_posix() for path in files)


def paper_of(config: Mapping) -> Paper:
    """The paper of a config; a one-line UserError for a name without a folder.

    Configs from before papers had folders have no section: their paper is the one with the name of
    the tier, or else NGO.
    """
    names = _names()
    section = config.get("paper")
    if section is None:
        name = config["tier"] if config["tier"] in names else NGO
        section = read_config([REPOSITORY / config_of(name)])["paper"]
    if section["name"] not in names:
        raise unknown("paper.name", section["name"], names)
    return Paper(**section)


def own_study(config: Mapping) -> Paper:
    """What heads a study of a user's own: what its config says of it, or else its tier's name.

    The config has the section ``paper`` of the NGO paper, but for what it replaces there.
    """
    theirs = read_config([REPOSITORY / CONFIG])["paper"]
    own = {key: value for key, value in config.get("paper", {}).items() if value != theirs[key]}
    none = dict.fromkeys(theirs, "")
    return Paper(**{**none, "title": config["tier"], **own})


def stated_files(config: Mapping, paper: Paper) -> dict[str, Any]:
    """The files ``claims`` and ``findings`` of a plan.

    The NGO paper's are for its own tables and claims only: a study of a user's own that names no
    file has no claims, and claims of a user's own have no questions of the paper's.
    """
    claims, findings = config["claims"], config.get("findings")
    theirs = _reference(NGO)
    if not paper.name and claims == f"{theirs}/claims.yaml" and Path(NO_CLAIMS).exists():
        claims = NO_CLAIMS
    if findings == f"{theirs}/findings.yaml" and claims != f"{theirs}/claims.yaml":
        findings = None
    return {"claims": claims, "findings": findings}


def _reference(name: str) -> str:
    return "config/reference" if name == NGO else f"{PAPERS}/{name}/reference"


def _names() -> list[str]:
    """The names of the papers that are here."""
    folders = [path for root in (Path(), REPOSITORY) for path in (root / PAPERS).glob("*/")]
    return sorted({NGO, *(folder.name for folder in folders)})
