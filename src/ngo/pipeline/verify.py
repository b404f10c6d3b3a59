"""Checks of an archive beyond its sums, which a forger could compute anew.

Tables are joined again from the rows of their runs and compared. Some runs and measured cases,
drawn by the verifier's seed, are made again and compared (``retraining``, ``remeasuring``).
"""

from __future__ import annotations

import io
import math
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from ngo.common.former import present
from ngo.pipeline.archive import Members
from ngo.pipeline.artefacts import tidy_table
from ngo.pipeline.carried import CARRIED, listed
from ngo.pipeline.collect import of_this_code
from ngo.pipeline.crate import crate_fault
from ngo.pipeline.packed_runs import FinishedRun, write_run
from ngo.pipeline.plan import Plan
from ngo.training.earlier import METRICS

# The shares of forged runs for which the probability of detection is printed.
SHARES = (0.01, 0.05, 0.1, 0.5)

Runs = Mapping[str, FinishedRun]
T = TypeVar("T", str, int)


def caught(sample: int, share: float) -> float:
    """How likely a sample of runs has a forged one, if this ``share`` of all runs is forged.

    1 − (1 − f)^k for k runs drawn with replacement; without, it is more likely.
    """
    return 1 - (1 - share) ** sample


def missed(drawable: int, sample: int, share: float) -> float:
    """How likely no forged one is among ``sample`` of the ``drawable``, drawn without replacement.

    This ``share`` of them is forged, at least one.
    """
    forged = max(1, math.ceil(share * drawable))
    return math.comb(drawable - forged, sample) / math.comb(drawable, sample) if drawable else 1.0


def drawable(
    runs: Runs, planned: Plan, longest: float | None = None, other_code: bool = False
) -> tuple[list[str], dict[str, int]]:
    """The runs that can be retrained here, sorted, and how many can't be, by reason.

    Runs of other code are among them if ``other_code``.
    """
    unchecked = {"not in the archive's config": 0, "of other code": 0, "too long": 0}
    found = []
    for name, run in sorted(runs.items()):
        if name not in planned.runs:
            unchecked["not in the archive's config"] += 1
        elif not (other_code or of_this_code(run, planned.runs[name])):
            unchecked["of other code"] += 1
        elif longest is not None and run.seconds > longest:
            unchecked["too long"] += 1
        else:
            found.append(name)
    return found, {reason: count for reason, count in unchecked.items() if count}


def drawn(names: Sequence[T], sample: int, seed: int) -> list[T]:
    """``sample`` of the ``names``, or all, uniformly by ``seed``; sorted."""
    return sorted(random.Random(seed).sample(sorted(names), min(sample, len(names))))


def faults(members: Members, runs: Runs, planned: Plan) -> Iterator[tuple[str, str | None]]:
    """What is compared without training, each with the first difference in it, if any."""
    yield "provenance", crate_fault(members, bool(runs))
    if CARRIED in members or listed(runs.values()):
        agree = members.get(CARRIED) == listed(runs.values()).get(CARRIED)
        yield CARRIED, None if agree else "it does not list what the records say"
    yield "records", next(filter(None, map(_other_final, runs.values())), None)
    with tempfile.TemporaryDirectory(prefix="ngo-verify-") as folder:
        for run in runs.values():
            write_run(Path(folder, run.id), run)
        for name in ("runs", *planned.training):
            member = tidy_table(planned.tier, name)
            specs = planned.runs.values() if name == "runs" else planned.training[name]
            if member in members:
                of_table = {spec.id for spec in specs}
                fault = _other_table(
                    members[member], of_table, Path(folder), planned.mixed_versions
                )
                yield name, fault


def _other_final(run: FinishedRun) -> str | None:
    """The first value by which a record's last evaluation differs from the last row."""
    for name, column in run.columns.items():
        value = column[-1].item()
        wanted = None if value != value or value in (float("inf"), float("-inf")) else value
        if run.record["final"].get(name) != wanted:
            return f"{run.id}: {name} is {value} in its last row, another in its record"
    return None


def _other_table(content: bytes, wanted: set[str], folder: Path, mixed_versions: str) -> str | None:
    """The first difference between a tidy table and the one joined from the rows of its runs."""
    import pandas as pd

    from ngo.analysis import results

    table = pd.read_parquet(io.BytesIO(content)).rename(columns=present)
    if set(table["run"]) != wanted:
        return "it has other runs than the config"
    if absent := sorted(run for run in wanted if not (folder / run).exists()):
        return f"the run {absent[0]} is not in the archive"
    file = io.BytesIO()
    try:
        paths = [folder / run / METRICS for run in sorted(wanted)]
        together = results.aggregate(paths, mixed_versions)
        together.to_parquet(file, index=False)
    except (ValueError, TypeError, LookupError) as error:
        return f"its runs can't be joined ({' '.join(str(error).split())[:200]})"
    joined = pd.read_parquet(file)
    # Runs with different fields give another order of columns in another order of runs.
    if set(table.columns) != set(joined.columns) or len(table) != len(joined):
        return "it has other columns or rows than its runs"
    for name in joined:
        a, b = table[name], joined[name]
        equal = (a == b) | (a.isna() & b.isna())
        if not equal.all():
            row = (~equal).idxmax()
            where = f"{name} of {joined['run'][row]} at step {joined['step'][row]}"
            return f"{where} is {a[row]} in the table, {b[row]} in the run"
    return None
