"""What ``archive.json`` says about an archive, checked against its members."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from ngo.common.registry import UserError, shown
from ngo.pipeline.archives.members import ABOUT, CODE, is_config, write_members
from ngo.pipeline.config_files import CONFIG, plugin_files, read_config, values_in
from ngo.pipeline.plan import SHARED

# Texts in a config that name a file outside the working directory.
_OUTSIDE = re.compile(r"[/~\\]|(.*/)?\.\.(/|$)|[A-Za-z]:")


def described(members: Mapping[str, bytes]) -> dict:
    """What the description says; a UserError, without a key, for the first fault in it.

    Its config must be that of the config files in the archive, and name no file outside of it.
    """
    about = json.loads(members[ABOUT])
    if not isinstance(about, dict):
        raise UserError("it is not a mapping")
    for key, kind in _KINDS.items():
        if key not in about:
            raise UserError(f"it is not complete: {key!r} is missing")
        if type(about[key]) is not kind:
            raise UserError(f"{key!r} is {shown(about[key])}, which is no {kind.__name__}")
    _check_tier(about)
    for name in about["artefacts"]:
        if not isinstance(name, str) or not re.fullmatch(r"\w+", name, re.ASCII):
            raise UserError(f"{shown(name)} is no name of a figure or table")
    if len(set(about["artefacts"])) < len(about["artefacts"]):
        raise UserError("a figure or table is named twice")
    _check_configs(about, members)
    _check_files(about["config"], members)
    return about


_KINDS = {"tier": str, "artefacts": list, "whole": bool, "configs": list, "config": dict}


def _check_tier(about: Mapping) -> None:
    tier = about["tier"]
    if not re.fullmatch("[a-z0-9_-]{1,100}", tier) or tier in SHARED:
        raise UserError(f"the tier {shown(tier)} is not allowed")
    if about["config"].get("tier") != tier:
        raise UserError(f"the tier {tier!r} is not that of the config")


def _check_configs(about: Mapping, members: Mapping[str, bytes]) -> None:
    """Raise a UserError unless the config is that of the files ``configs``, the base first."""
    names = about["configs"]
    for name in names:
        if not isinstance(name, str) or name not in members or not name.endswith(".yaml"):
            raise UserError(f"the config {shown(name)} is not in the archive")
        if not is_config(name):
            raise UserError(
                f"the config {name!r} is not in the folder {str(CONFIG.parent)!r} or of a paper"
            )
    if not names or names[0] != CONFIG.as_posix() or len(set(names)) < len(names):
        raise UserError(f"the configs must be different files, and {str(CONFIG)!r} the first")
    with tempfile.TemporaryDirectory(prefix="ngo-config-") as folder:
        write_members(Path(folder), {name: members[name] for name in names})
        try:
            merged = read_config(Path(folder, name) for name in names)
        except UserError as error:
            raise UserError(str(error).replace(f"{folder}/", "")) from None
    if merged != about["config"]:
        raise UserError("its config is not that of the config files")


def _check_files(config: Mapping, members: Mapping[str, bytes]) -> None:
    """Raise a UserError if the config names a file that is not in the archive.

    No text in it may be a path outside: plugins may add keys that name files. The root of the data
    sets is not read from an archive.
    """
    for _, _, value in values_in({k: part for k, part in config.items() if k != "data"}):
        if isinstance(value, str) and _OUTSIDE.match(value):
            raise UserError(f"its config names a path outside of it, {shown(value)}")
    for name in plugin_files(config):
        if str(PurePosixPath(name)) not in members:
            raise UserError(f"the plugin {name!r} is not in the archive")
    code = {name for name in members if name.endswith(CODE)}
    if other := sorted(code - {*plugin_code(config)}):
        raise UserError(f"{other[0]!r} is code, and no plugin of the config")


def plugin_code(config: Mapping) -> list[str]:
    """The plugins of a config that are code, by their names in an archive."""
    return [str(PurePosixPath(name)) for name in plugin_files(config) if name.endswith(CODE)]
