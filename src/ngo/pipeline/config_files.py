"""Reading config files: a base, and overlays that replace some of its values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from ngo.common.registry import UserError
from verdicts.yaml_files import read_mapping

CONFIG = Path("config/config.yaml")


def tiers(folder: str | Path = CONFIG.parent) -> list[list[Path]]:
    """The config files of each tier: the base alone, and the base with each overlay of a folder."""
    base = Path(folder, CONFIG.name)
    overlays = sorted(path for path in base.parent.glob("*.yaml") if path != base)
    return [[base], *([base, path] for path in overlays)]


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
