"""Values that no config should have, in all places of one: a line with the key, or a plan."""

import copy
import datetime
import math
import random

import pytest
from configs import changed, config_of, plan_of

from ngo.common.registry import UserError
from ngo.pipeline.plan import Plan


def nested(levels):
    return [nested(levels - 1)] if levels else 1


ITSELF = []
ITSELF.append(ITSELF)

VALUES = {
    **{"none": None, "true": True, "false": False, "below zero": -1, "minus zero": -0.0},
    **{"long int": 10**30, "unprintable int": 10**5000, "below 2^63": 2**63, "whole float": 2.0},
    **{"nan": math.nan, "infinite": math.inf, "below all": -math.inf, "large": 1e308},
    **{"smallest": 5e-324, "empty text": "", "space": " ", "long text": "x" * 100_000},
    **{"lines": "a\nb", "nul": "a\0b", "letters": "ɣ﷽\u202e", "surrogate": "\udcff"},
    **{"number as text": "0.1", "exponent as text": "1e-3", "path": "../../etc", "option": "-h"},
    **{"braces": "{run}", "date": datetime.date(2020, 1, 1), "bytes": b"\xff", "set": {1, 2}},
    **{"time": datetime.datetime(2020, 1, 1), "no values": [], "lists": [[1]], "deep": nested(60)},
    **{"texts": ["a"], "none in a list": [None], "mixed": [1, "a", None, {}], "repeated": [1, 1]},
    **{"true in a list": [True], "nan in a list": [math.nan], "mapping in a list": [{}]},
    **{"itself": ITSELF, "no keys": {}, "mapping": {"a": 1}, "whole key": {1: 2}},
    **{"none as key": {None: 1}, "tuple as key": {(1, 2): 3}, "lines as key": {"a\nb": 1}},
    **{"true as key": {True: 1}, "unprintable key": {10**5000: 1}, "long key": {"x" * 5000: 1}},
}

KEYS = (1, None, True, "", "a\nb", "x" * 5000, math.nan, datetime.date(2020, 1, 1), (1, 2), b"x")


def small_config():
    """The demo's config with one or two entries of each section."""
    config = config_of()
    kept = ("fig2", "figA1", "fig3", "figS2", "tableS1", "theory", "throughput")
    for section in ("training", "partitions", "consensus", "spectra", "theory", "throughput"):
        config[section] = {name: each for name, each in config[section].items() if name in kept}
    for section in ("alignment", "samples"):
        config[section] = {k: v for k, v in config[section].items() if k in config["training"]}
    return {**config, "only": sorted(config["training"]), "plugins": []}


def places(node, at=()):
    """The paths of all values of a config, at most two of a list."""
    if at:
        yield at
    if isinstance(node, dict | list):
        items = node.items() if isinstance(node, dict) else enumerate(node[:2])
        for key, value in items:
            yield from places(value, (*at, key))


def of(config, at):
    for key in at:
        config = config[key]
    return config


def judged(config):
    """The line of a refused config; None for a plan."""
    line = None
    try:
        planned = plan_of(config)
    except UserError as error:
        line = str(error)
    if line is None:
        assert isinstance(planned, Plan)
    else:
        assert line.isprintable()
        assert len(line) < 1500  # the names of all fields, and a value cut short
    return line


CASES = [(kind, seed) for kind in ("value", "key") for seed in range(3)]


@pytest.mark.parametrize(("kind", "seed"), CASES)
def test_hostile_values_are_refused_under_their_key(kind, seed):
    drawn, base = random.Random(seed), small_config()
    everywhere = list(places(base))
    refused = 0
    for _ in range(25):
        config, at = copy.deepcopy(base), drawn.choice(everywhere)
        while kind == "key" and not isinstance(of(base, at[:-1]), dict):
            at = drawn.choice(everywhere)
        value = VALUES[drawn.choice(sorted(VALUES))]
        if kind == "key":
            of(config, at[:-1])[drawn.choice(KEYS)] = of(config, at[:-1]).pop(at[-1])
        else:
            of(config, at[:-1])[at[-1]] = value
        line = judged(config)
        refused += line is not None
        if kind == "value" and line is not None:
            named = [str(key) for key in at if isinstance(key, str)]
            assert any(key in line for key in named[-2:])
    assert refused >= 10


def test_the_base_of_the_hostile_configs_is_a_plan():
    assert judged(small_config()) is None


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("tier", 10**5000, r"^tier: this int is too large; whole numbers are below 2\^63\.$"),
        ("training", {10**5000: 1}, "^training: this int is too large"),
        ("seeds", ITSELF, r"^seeds(\[0\])+: it is nested more than 20 levels deep, or holds itse"),
        ("only", [[]], r"^only: \[\] is unknown; allowed: "),
        ("plugins", ["x" * 5000 + ".py"], "^plugins: 'xxx.*… is not a Python file"),
        ("settings", {"a\nb": {}}, r"^settings: the name 'a\\nb' is not allowed; it must be of"),
        ("claims", "a\0b", r"^claims: 'a\\x00b' is not allowed; it must be a path"),
        ("training.fig2", {"x" * 5000: 1}, "^training.fig2: 'xxx.*… is unknown; allowed: sett"),
    ],
    ids=lambda each: each if isinstance(each, str) and len(each) < 40 else "value",
)
def test_what_once_ended_in_a_traceback_or_was_accepted(path, value, message):
    line = judged(changed(path, value))
    with pytest.raises(UserError, match=message):
        raise UserError(line)
