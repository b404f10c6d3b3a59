"""Counts of samples and classes of the workers (Figures S2 and A2)."""

from __future__ import annotations

from ngo.common.types import Table
from verdicts.quantity_registry import quantity
from verdicts.statistics.cases import cases


@quantity("samples_of_workers", example="{samples: 400}", cases=True)
def samples_of_workers(rows: Table, samples: int) -> Table:
    """One case for each worker: it has ``samples`` samples."""
    found = _counts(rows)
    met = found["samples"] == samples
    return cases(found, ("dataset", "worker"), found["samples"], samples, met)


@quantity("classes_of_workers", example="{most: 4}", cases=True)
def classes_of_workers(rows: Table, most: int) -> Table:
    """One case for each worker: it has samples of at most ``most`` classes."""
    found = _counts(rows)
    met = found["classes"] <= most
    return cases(found, ("dataset", "worker"), found["classes"], most, met)


@quantity("samples_used", example="{samples: 60000}", cases=True)
def samples_used(rows: Table, samples: int) -> Table:
    """One case for each data set: its workers together have all of its ``samples`` samples."""
    found = rows.groupby("dataset")["samples"].sum().reset_index()
    return cases(found, ("dataset",), found["samples"], samples, found["samples"] == samples)


@quantity("batches_of_steps", cases=True)
def batches_of_steps(rows: Table) -> Table:
    """One case for each number of workers: a step takes as many batches as there are workers."""
    from verdicts.rows.evaluations import final

    ends = final(rows)
    batches = ends["samples"] / ends["step"] / ends["batch_size"]
    found = batches.groupby(ends["workers"]).max().reset_index(name="batches")
    met = found["batches"] == found["workers"]
    return cases(found, ("workers",), found["batches"], found["workers"], met)


def _counts(rows: Table) -> Table:
    """Samples and classes by data set and worker."""
    owned = rows.assign(classes=(rows["samples"] > 0).astype(int))
    return owned.groupby(["dataset", "worker"])[["samples", "classes"]].sum().reset_index()
