"""The shipped configs, as they are and with one value changed."""

import copy
from contextlib import chdir
from functools import cache

from conftest import REPOSITORY

from ngo.pipeline.config import read_config
from ngo.pipeline.plan import plan as plan_of

TIERS = {"paper": [], "laptop": ["laptop.yaml"], "demo": ["demo.yaml"]}


@cache
def read(tier):
    names = ["config.yaml", *TIERS[tier]]
    config = read_config(REPOSITORY / "config" / name for name in names)
    config.pop("only", None)  # all that the demo defines
    return config


def config_of(tier="demo"):
    return copy.deepcopy(read(tier))


@cache
def plan_of_tier(tier="demo"):
    """The plan of a shipped config: not to be changed."""
    with chdir(REPOSITORY):
        made = plan_of(read(tier))
        assert made.ledger  # its files are read here
        return made


def changed(path, value):
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
