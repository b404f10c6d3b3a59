"""The config of the workflow where it is a module of another workflow.

The other workflow passes values, not files. They are an overlay of the repository's config, which
is written down: commands and pages read config files.

Light: the workflow imports this module at every start.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import yaml

from ngo.common.files import write_text
from ngo.common.registry import UserError
from ngo.pipeline.config_files import CONFIG, read_config
from ngo.pipeline.paper import REPOSITORY
from ngo.pipeline.places import tier_folder

#: Keys whose values are files of the repository, unless the working directory has them.
FILES = ("claims", "findings")


def module_files(given: Mapping) -> list[str]:
    """The config files of a module: the repository's base, and the overlay ``given``, written here.

    Raises a UserError for a base that is not a config.
    """
    base = REPOSITORY / CONFIG
    values = read_config([base])
    overlay = {key: value for key, value in given.items() if values.get(key, ()) != value}
    for key in FILES:
        path = given.get(key, values[key])
        if isinstance(path, str) and not Path(path).exists():
            overlay[key] = os.path.relpath(REPOSITORY / path)
    tier = str(given.get("tier", values["tier"]))
    if Path(tier).name != tier:
        raise UserError(f"tier: {tier!r} is not allowed; it must be the name of a folder.")
    place = Path(tier_folder(tier), "config.yaml")
    text = yaml.safe_dump(overlay, sort_keys=False, allow_unicode=True)
    if not place.exists() or place.read_text(encoding="utf-8") != text:
        write_text(place, text)
    return [os.path.relpath(base), str(place)]
