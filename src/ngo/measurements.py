"""What `ngo` measures beside training: the values of each measurement, for its command and config.

Light: it imports no torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from ngo.fields import Field, above, at_least, checked, within
from ngo.graphs import TOPOLOGIES
from ngo.protocols import PROTOCOLS
from ngo.registry import UserError, shown, unknown


@dataclass(frozen=True)
class Value:
    """A value of a measurement. One whose default is a tuple is a list in a config, and an option
    that may be repeated; one that is not ``needed`` may be left out of a config.
    """

    field: Field
    default: object
    needed: bool = True

    @property
    def many(self) -> bool:
        """Whether there may be several of it."""
        return isinstance(self.default, tuple)


def _names(help: str, default: str | tuple[str, ...], known: Mapping = TOPOLOGIES) -> Value:
    return Value(Field(str, help, names=known), default)


def _whole(help: str, default: int | tuple[int, ...], low: int, high: int) -> Value:
    return Value(Field(int, help, **within(low, high)), default)


def _number(help: str, default: float | tuple[float, ...], range: Mapping) -> Value:
    return Value(Field(float, help, **range), default)


def _seed(of: str) -> Value:
    return Value(Field(int, f"seed of {of}", **at_least(0)), 0)


_U = _number("probability of an edge in a random graph", 0.4, above(0, 1))
_SUBLINEAR = within(0.5, 0.99)  # up to 1, T* and the floors leave what numbers can hold

MEASURES: dict[str, dict[str, Value]] = {
    "consensus": {
        "topology": _names("graph of the workers", "ring"),
        "workers": _whole("number of workers n", 10, 2, 2000),
        "u": Value(_U.field, _U.default, needed=False),
        "p": _number("exponent of the coupling φ_p; 1 is linear", (0.9,), above(0, 10)),
        "delay": _whole("delay τ, in rounds", (0,), 0, 1_000_000),
        "gamma": _number("synchronization rate γ: the length of a round", 0.1, above(0, 1_000_000)),
        "rounds": _whole("rounds of gossip", 500, 1, 1_000_000),
        "seed": _seed("states and random graphs"),
    },
    "spectra": {
        "topology": _names("topology", ("ring", "complete")),
        "workers": _whole("number of workers n", (4, 16, 36, 64), 2, 2000),
        "u": _U,
        "draws": _whole("random graphs for a mean", 200, 1, 100_000),
        "seed": _seed("random graphs"),
    },
    "alignment": {
        "scale": _number(
            "factor on the workers' distances to their mean", (0, 1, 2), within(0, 1_000_000)
        ),
        "samples": _whole("training samples that gradients are taken on", 500, 1, 1_000_000),
        "seed": _seed("the choice of samples"),
    },
    "samples": {
        "images": _whole("images of each kind, or points of a curve", 8, 1, 10_000),
        "seed": _seed("the codes of generated images"),
    },
    "throughput": {
        "protocol": _names("protocol", ("gossip", "ngo"), PROTOCOLS),
        "workers": _whole("number of workers n", (1, 2, 4, 8), 1, 2000),
        "steps": _whole("training steps of one measurement", 20, 1, 1_000_000),
        "repeats": _whole("measurements of each case", 5, 1, 10_000),
    },
    "theory": {
        "topologies": _names("graph", ("ring", "random", "complete")),
        "workers": _whole("number of workers of each graph", (2, 5), 2, 200),
        "u": _U,
        "p": _number("exponent of the coupling φ_p", (0.5, 0.75, 0.9), _SUBLINEAR),
        "seed": _seed("graphs, states and data"),
        "tol": _number("consensus is V at this share of V(0)", 1e-12, within(1e-30, 0.5)),
        "draws": _whole("initial states of each graph", 3, 1, 1000),
        "delay_step": _number("delays: length γ of a round", 0.1, above(0, 1)),
        "delay_rounds": _whole("delays: rounds", 400, 10, 100_000),
        "delay_share": _number(
            "delays: share of V that it must get below, for p < 1", 0.01, above(0, 1)
        ),
        "floor_gamma": _number("chatter: synchronization rate γ", (0.1, 1.0), within(0.001, 10)),
        "floor_dimension": _whole("chatter: coordinates of a state", 20, 1, 10_000),
        "sgd_topology": _names("least squares: graph of the workers", "ring"),
        "sgd_workers": _whole("least squares: number of workers", 10, 2, 200),
        "sgd_gamma": _number("least squares: synchronization rate γ", 0.1, above(0, 0.99)),
        "sgd_p": _number("least squares: exponent of φ_p", 0.9, _SUBLINEAR),
        "samples": _whole("least squares: samples per worker", 100, 1, 100_000),
        "dimension": _whole("least squares: features of a sample", 5, 1, 1000),
        "noise": _number("least squares: standard deviation of noise", 0.5, above(0, 1000)),
        "heterogeneity": _number(
            "least squares: how far the workers' solutions lie apart", 0.5, within(0, 1000)
        ),
        "batch_size": _whole("least squares: samples per worker and step", 4, 1, 100_000),
        "steps": _whole("least squares: training steps T", 1000, 1, 1_000_000),
        "points": _whole("least squares: numbers of steps on show", 12, 1, 1000),
        "repeats": _whole("least squares: runs for a mean", 10, 1, 10_000),
    },
}

# What is held in memory at once grows with these products.
PRODUCTS = {
    "consensus": (("workers", "rounds"),),
    "theory": (
        ("workers", "delay_rounds"),
        ("workers", "floor_dimension"),
        ("sgd_workers", "samples", "dimension"),
        ("sgd_workers", "batch_size", "dimension", "repeats"),
        ("steps", "repeats"),
    ),
}
MOST = 10_000_000


def check_entry(key: str, kind: str, entry: Mapping[str, object]) -> None:
    """Raise a UserError for the first mistake in a config's ``entry`` for a measurement."""
    values = MEASURES[kind]
    for name in entry:
        if name not in values:
            raise unknown(key, name, values)
    for name, value in values.items():
        if name in entry:
            _check_value(f"{key}.{name}", value, entry[name])
        elif value.needed:
            raise UserError(f"{key}: {name!r} is missing.")
    check_size(kind, entry, f"{key}.")


def check_size(kind: str, values: Mapping[str, object], key: str = "") -> None:
    """Raise a UserError where values that are allowed one by one ask for too much together."""
    for names in PRODUCTS.get(kind, ()):
        factors = [max(v) if isinstance(v := values[name], list | tuple) else v for name in names]
        if (size := prod(factors)) > MOST:
            raise UserError(
                f"{key}{names[-1]}: {' × '.join(names)} is {size:,}; it must be {MOST:,} or less."
            )
    if kind == "theory" and values["dimension"] > values["samples"]:
        raise UserError(
            f"{key}dimension: {values['dimension']} is more than a worker's {values['samples']} "
            f"samples, which then have no one solution; it must be {values['samples']} or less."
        )


def _check_value(key: str, value: Value, given: object) -> None:
    if not value.many:
        checked(key, given, value.field)
        return
    if not isinstance(given, list) or not given:
        raise UserError(f"{key}: {shown(given)} is not allowed; it must be a list of 1 or more.")
    for k, item in enumerate(given):
        checked(f"{key}[{k}]", item, value.field)
        if item in given[:k]:
            raise UserError(f"{key}: {shown(given)} repeats {item!r}; each may be there once.")
