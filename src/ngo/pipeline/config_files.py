"""Reading config files: a base, and overlays that replace some of its values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import yaml

from ngo.common.registry import UserError
from ngo.common.unique_keys import RepeatedKey, UniqueKeys

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
        try:
            overlay = yaml.load(Path(path).read_text(encoding="utf-8"), UniqueKeys)
        except OSError as error:
            raise UserError(f"{key}: {str(path)!r} can't be read: {error.strerror}") from None
        except RepeatedKey as error:
            raise UserError(f"{key}: {str(path)!r}, {error}.") from None
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            problem = " ".join(str(error).split())
            raise UserError(f"{key}: {str(path)!r} is not valid YAML: {problem}") from None
        if not isinstance(overlay, dict):
            raise UserError(f"{key}: {str(path)!r} must be a mapping of keys to values")
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
