"""Reading config files: a base, and overlays that replace some of its values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from ngo.common.registry import UserError
from verdicts.yaml_files import read_mapping

CONFIG = Path("config/config.yaml")
PAPERS = Path("papers")
"""The folders of papers other than that of ``CONFIG``, each with a ``config.yaml``."""


def tiers(folder: str | Path = CONFIG.parent) -> list[list[Path]]:
    """The config files of each tier: the base alone, and the base with each overlay.

    Overlays are the other files in ``folder``, and the configs of the papers next to it.
    """
    base = Path(folder, CONFIG.name)
    overlays = sorted(path for path in base.parent.glob("*.yaml") if path != base)
    overlays += sorted((base.parent.parent / PAPERS).glob(f"*/{CONFIG.name}"))
    return [[base], *([base, path] for path in overlays)]


def place(path: Path) -> str:
    """How a config file is named in archives and on pages, wherever it is here.

    ``papers/NAME/FILE`` for a file in the folder of a paper, and ``config/FILE`` for all others.
    """
    folder = path.absolute().parent
    if folder.parent.name == PAPERS.name:
        return f"{PAPERS}/{folder.name}/{path.name}"
    return f"{CONFIG.parent}/{path.name}"


def read_config(paths: Iterable[str | Path], key: str = "config") -> dict:
    """The config in ``paths``: mappings of later files are merged into those of earlier ones.

    Raises a UserError, under ``key``, for a file that is not a config.
    """
    config: dict = {}
    for path in paths:
        overlay = read_mapping(path, key)
        if config and config.keys() < overlay.keys():
            raise UserError(f"{key}: {str(path)!r} is a base; name it before its overlays.")
        config = _overlaid(config, overlay)
    return config


def _overlaid(base: Mapping, overlay: Mapping) -> dict:
    """``base`` with the values of ``overlay``; mappings are merged, all else is replaced."""
    merged = dict(base)
    for key, value in overlay.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = _overlaid(merged[key], value) if both else value
    return merged
