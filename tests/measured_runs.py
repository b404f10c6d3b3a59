"""Made-up evaluations of runs with the numbers of a curve, for quantities of claims."""

import math

import pandas as pd

import ngo.analysis.quantities  # noqa: F401 (registers the values and quantities of runs)


def evaluations(curve, *, seed=0, diverged=False, **fields):
    """The rows of one run: ``curve`` has a row of numbers for each evaluation.

    Numbers: ``step``, and any of ``accuracy`` (a share), ``workers`` (theirs), ``V``, ``loss``,
    ``bytes``, ``seconds``. The run is named after its fields and its seed.
    """
    name = "-".join(f"{value}" for value in (*fields.values(), f"s{seed}"))
    rows = []
    for k, at in enumerate(curve):
        loss = at.get("loss", math.nan)
        rows.append(
            {
                "run": name, "seed": seed, "topology": None, **fields, "step": at["step"],
                "epoch": at["step"] / 10,
                "consensus_accuracy": at.get("accuracy", math.nan),
                "workers_accuracy_mean": at.get("workers", at.get("accuracy", math.nan) - 0.1),
                "workers_accuracy_min": at.get("accuracy", math.nan) - 0.15,
                "workers_accuracy_max": at.get("accuracy", math.nan) - 0.05,
                "holdout_accuracy": at.get("held_out", math.nan),
                "consensus_loss": loss, "workers_loss_mean": 2 * loss, "train_loss": 3 * loss,
                "V": at.get("V", math.nan), "bytes_sent": at.get("bytes", 0),
                "messages": at.get("messages", 0), "virtual_seconds": at.get("seconds", math.nan),
                "diverged": diverged and k == len(curve) - 1,
            }
        )  # fmt: skip
    return rows


def ended(*, seed=0, diverged=False, accuracy=0.5, V=1.0, loss=1.0, held_out=math.nan, **fields):
    """The rows of a run that starts at an accuracy of 0.1 and ends with these numbers."""
    start = {"step": 0, "accuracy": 0.1, "V": 0.0, "loss": 10.0, "held_out": 0.1}
    end = {"step": 100, "accuracy": accuracy, "V": V, "loss": loss, "held_out": held_out}
    return evaluations([start, end], seed=seed, diverged=diverged, **fields)


def table(*runs):
    """A tidy table of runs."""
    return pd.DataFrame([row for rows in runs for row in rows])


def pairs(ours, theirs, *, value="accuracy", lost_ours=(), lost_theirs=(), **fields):
    """One run of NGO and one of gossip for each seed, with these final values."""
    rows = []
    for method, values, lost in (("ngo", ours, lost_ours), ("gossip", theirs, lost_theirs)):
        for seed, number in enumerate(values):
            rows.append(
                ended(seed=seed, diverged=seed in lost, method=method, **fields,
                      **{value: number})
            )  # fmt: skip
    return table(*rows)
