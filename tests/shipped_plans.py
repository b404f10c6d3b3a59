"""The plans of shipped configs, each made once in a process. Tests only read them."""

from contextlib import chdir
from functools import cache

from ngo.pipeline.config import read_config
from ngo.pipeline.paths import REPOSITORY
from ngo.pipeline.plan import Plan, plan


@cache
def planned(overlay: str = "") -> Plan:
    """The plan of the base config, or of an overlay on it, such as ``config/demo.yaml``."""
    with chdir(REPOSITORY):
        made = plan(read_config(filter(None, ["config/config.yaml", overlay])))
        assert made.ledger  # its files are read here
    return made
