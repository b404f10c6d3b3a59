"""Shipped configs, as they are and with one value changed, and their plans.

Each is read and planned once in a process: tests change neither plans nor what is cached.
"""

import copy
from contextlib import chdir
from functools import cache
from pathlib import Path

from ngo.pipeline.config import read_config
from ngo.pipeline.paths import REPOSITORY
from ngo.pipeline.plan import Plan
from ngo.pipeline.plan import plan as plan_of

TIERS = {"paper": "", "laptop": "config/laptop.yaml", "demo": "config/demo.yaml"}
"""The overlay of each tier of the NGO paper."""

OF_UNIVERSES = {"multiverse"}
"""The figures and tables of the tiers that have samples of universes."""


def tiers() -> list[list[Path]]:
    """The config files of each tier: the base alone, and with each overlay."""
    base = REPOSITORY / "config/config.yaml"
    overlays = [path for path in sorted(base.parent.glob("*.yaml")) if path != base]
    overlays += sorted(REPOSITORY.glob("papers/*/config.yaml"))
    return [[base], *([base, path] for path in overlays if not path.name.startswith("decide-"))]


@cache
def _read(overlay: str, *, whole: bool = False) -> dict:
    with chdir(REPOSITORY):
        config = read_config(filter(None, ["config/config.yaml", overlay]))
    return {**config, "only": None} if whole else config


@cache
def planned(overlay: str = "", *, whole: bool = False) -> Plan:
    """The plan of the base config, or of an overlay on it, such as ``config/demo.yaml``.

    If ``whole``, it has what the list ``only`` leaves out, too.
    """
    with chdir(REPOSITORY):
        made = plan_of(_read(overlay, whole=whole))
        assert made.ledger  # its files are read here
    return made


def config_of(tier: str = "demo") -> dict:
    """The config of a tier, without a list ``only``, to be changed."""
    return copy.deepcopy(_read(TIERS[tier], whole=True))


def plan_of_tier(tier: str = "demo") -> Plan:
    """The plan of that config."""
    return planned(TIERS[tier], whole=True)


def of_a_tier() -> dict[str, object]:
    """The figures and tables that every tier has."""
    artefacts = plan_of_tier().artefacts
    return {name: artefacts[name] for name in artefacts if name not in OF_UNIVERSES}


def changed(path: str, value: object) -> dict:
    """The demo's config with one value at a dotted path; ``DELETE`` removes the key."""
    config = config_of()
    *parents, last = path.split(".")
    place = config
    for key in parents:
        place = place[int(key)] if isinstance(place, list) else place[key]
    if value == "DELETE":
        del place[last]
    else:
        place[last] = value
    return config
