"""The cost of a training step with each method and local rule, relative to NGO and to DSGD."""

from __future__ import annotations

from functools import partial

from ngo.bench.costs import Bench, Target
from ngo.bench.training_step import training_step
from ngo.bench.turns import turns

PLAIN = "NGO, SGD"
DSGD = "dsgd"

# Fields of a run, by the name of the way. Centralized SGD has no exchange to compare. A step of
# GT-SAGA is on one sample.
WAYS = {
    PLAIN: {},
    DSGD: {"method": "dsgd"},
    "momentum": {"local_rule": "momentum"},
    "nesterov": {"local_rule": "nesterov"},
    "adam": {"local_rule": "adam"},
    "adamw": {"local_rule": "adamw"},
    "d2": {"method": "d2"},
    "exact_diffusion": {"method": "exact_diffusion"},
    "gradient_tracking": {"method": "gradient_tracking"},
    "quasi_global": {"method": "quasi_global"},
    "push_sum": {"method": "push_sum"},
    "choco, top_k": {"method": "choco", "compression": "top_k"},
    "choco, random_k": {"method": "choco", "compression": "random_k"},
    "choco, sign": {"method": "choco", "compression": "sign"},
    "choco, qsgd": {"method": "choco", "compression": "qsgd"},
    "capped": {"coupling": "capped"},
    "failing links": {"link_failure": 0.1},
    "relay_sum": {"method": "relay_sum", "topology": "chain"},
    "extra": {"method": "extra"},
    "momentum_tracking": {"method": "momentum_tracking"},
    "gt_saga": {"method": "gt_saga", "batch_size": 1},
    "admm": {"method": "admm", "local_steps": 1},
    "proxskip": {"method": "proxskip"},
    "clique_averaging": {"method": "clique_averaging"},
    "dsgd_ac": {"method": "dsgd_ac"},
    "epidemic": {"method": "epidemic", "topology": "epidemic_out", "receivers": 2},
    "post_local_sgd": {"method": "post_local_sgd", "local_steps": 4},
    "outer": {"method": "outer", "local_steps": 4},
    "diloco": {"method": "diloco", "topology": None, "local_steps": 4},
    "noloco": {"method": "noloco", "local_steps": 4},
    "gasloc": {"method": "gasloc", "local_steps": 4},
    "sign_flip": {"attack": "sign_flip", "liars": 1},
    "alie": {"attack": "alie", "liars": 1},
    "sign_flip, clipped": {"attack": "sign_flip", "liars": 1, "coupling": "clipped"},
    "sign_flip, median": {"attack": "sign_flip", "liars": 1, "coupling": "median"},
}

LIMIT = 1.3
"""The most that a step may cost, relative to NGO with SGD; both without the exchange."""


def method_steps(
    model: str = "mnist_cnn", n: int = 10, b: int = 32, device: str = "cpu", repeats: int = 5
) -> Bench:
    """Training steps with each of ``WAYS``; the exchange of rows is timed separately."""
    case = {"model": model, "n": n, "b": b, "device": device}
    ways = {
        way: partial(training_step, "auto", **{"topology": "ring", **fields}, **case)
        for way, fields in WAYS.items()
    }
    taken = turns(ways, repeats, f"{model}, methods", device=device)
    alone = {way: taken.seconds(way) * (1 - taken.share(way)) for way in WAYS}
    rows = [
        {
            **case,
            "way": way,
            "ms": taken.seconds(way) * 1e3,
            "exchange_ms": (taken.seconds(way) - alone[way]) * 1e3,
            "of_dsgd": taken.ratio(way, DSGD),
            "of_plain": taken.ratio(way, PLAIN),
            "of_plain_without_exchange": alone[way] / alone[PLAIN],
        }
        for way in WAYS
    ]
    targets = [
        Target(f"{model}: {row['way']}, of {PLAIN}", row["of_plain_without_exchange"], LIMIT)
        for row in rows[1:]
    ]
    return Bench(rows, targets)
