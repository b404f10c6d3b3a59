"""The plans of shipped configs, each made once in a process. Tests only read them."""

from contextlib import chdir
from functools import cache
from pathlib import Path

from ngo.pipeline.config import SEEDS, read_config
from ngo.pipeline.paths import REPOSITORY
from ngo.pipeline.plan import Plan, plan


def tiers() -> list[list[Path]]:
    """The config files of each tier: the base alone, and with each overlay."""
    base = REPOSITORY / "config/config.yaml"
    overlays = [path for path in sorted(base.parent.glob("*.yaml")) if path != base]
    overlays += sorted(REPOSITORY.glob("papers/*/config.yaml"))
    return [[base], *([base, path] for path in overlays if not path.name.startswith(SEEDS))]


@cache
def planned(overlay: str = "") -> Plan:
    """The plan of the base config, or of an overlay on it, such as ``config/demo.yaml``."""
    with chdir(REPOSITORY):
        made = plan(read_config(filter(None, ["config/config.yaml", overlay])))
        assert made.ledger  # its files are read here
    return made
