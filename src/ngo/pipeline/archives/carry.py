"""Carrying the runs of an archive over to the present code, where it gives the same metrics.

The runs fall into strata: those of one code before and one code now, by their fingerprints. One run
of each stratum is trained with the present code. If that changes nothing, all runs of the stratum
get the key of the present code (``ngo.pipeline.archives.carried``).

What is compared depends on what is here. On the kind of processor that made the run, its metrics
must be the same bit for bit. Elsewhere the run is trained with the earlier code too, and the two
must be the same bit for bit; the earlier code is that of the revision which the record names,
if it is in this checkout and has the run's fingerprint. Without it, the run is trained with two
roundings (``ngo.pipeline.archives.agreement``).
"""

from __future__ import annotations

import json
import random
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ngo.common.registry import UserError
from ngo.pipeline.archives.agreement import bit_difference, difference_beyond_rounding, same_kind
from ngo.pipeline.archives.archive import ABOUT, OLDER, Archive, Members
from ngo.pipeline.archives.carried import rekeyed
from ngo.pipeline.archives.collect import has_values, with_runs
from ngo.pipeline.archives.earlier_code import earlier_package
from ngo.pipeline.archives.packed_runs import FinishedRun, is_finished, revisions, run_here
from ngo.pipeline.archives.retraining import BITS, ROUNDINGS, Retraining, other_rounding
from ngo.pipeline.plan import Plan
from ngo.training.code import run_fingerprint
from ngo.training.spec import RunSpec

EARLIER = "bit for bit with the earlier code on this processor"


@dataclass(frozen=True)
class Stratum:
    """Runs that one code made, and that one code would make now."""

    old: str
    new: str
    #: Ids, sorted.
    runs: tuple[str, ...]


@dataclass(frozen=True)
class Shown:
    """How a run was compared, where, and what differs, if anything does."""

    how: str
    processor: str
    fault: str | None


def strata(runs: Mapping[str, FinishedRun], planned: Plan) -> tuple[list[Stratum], dict[str, int]]:
    """The strata of runs of other code, and how many runs can't be carried, by reason."""
    found: dict[tuple[str, str], list[str]] = {}
    refused = {"not in the archive's config": 0, "of other values": 0}
    for name, run in sorted(runs.items()):
        spec = planned.runs.get(name)
        if spec is None:
            refused["not in the archive's config"] += 1
            continue
        if not has_values(run, spec):
            refused["of other values"] += 1
        elif (new := run_fingerprint(spec)) != run.about["code"]:
            found.setdefault((run.about["code"], new), []).append(name)
    ordered = [Stratum(old, new, tuple(names)) for (old, new), names in found.items()]
    ordered.sort(key=lambda each: (_shortest(each, runs).seconds, each.old))
    return ordered, {reason: count for reason, count in refused.items() if count}


def chosen(stratum: Stratum, runs: Mapping[str, FinishedRun], seed: int | None) -> str:
    """The run that speaks for a stratum: one by ``seed``, or the shortest that did not diverge."""
    if seed is not None:
        return random.Random(f"{seed} {stratum.old} {stratum.new}").choice(stratum.runs)
    return _shortest(stratum, runs).id


class Carrying:
    """Trains runs with the present code, and with that which made them, and compares."""

    def __init__(self, retraining: Retraining, kept: Path, longest: float | None = None) -> None:
        """Trained runs stay in ``kept``, so that no run is trained twice.

        Runs that took longer than ``longest`` seconds are not trained.
        """
        self._retraining, self._kept, self._longest = retraining, kept, longest

    def shown(self, archived: FinishedRun, spec: RunSpec, stratum: Stratum) -> Shown:
        """Whether the present code makes the run as before; a UserError if it can't be trained."""
        long = self._longest is not None and archived.seconds > self._longest
        if long and not is_finished(self._kept / stratum.new / spec.id):
            raise UserError(f"it took {archived.seconds:.0f} s")
        one = self._trained(spec, stratum.new, {})
        if one.about["code"] != stratum.new:
            raise UserError(f"carry: the code has been changed while {spec.id} was trained.")
        processor = str(one.record.get("processor"))
        if same_kind(archived, one):
            return Shown(BITS, processor, bit_difference(archived, one))
        before = self._before(archived, spec, stratum)
        if before is not None and same_kind(before, one):
            return Shown(EARLIER, processor, bit_difference(before, one))
        two = self._trained(spec, f"{stratum.new}-rounded", other_rounding(one))
        return Shown(ROUNDINGS, processor, difference_beyond_rounding(archived, one, two))

    def _trained(self, spec: RunSpec, key: str, environment: Mapping[str, str]) -> FinishedRun:
        folder = self._kept / key / spec.id
        return run_here(folder) or self._retraining.trained_in(folder, spec, environment)

    def _before(self, archived: FinishedRun, spec: RunSpec, stratum: Stratum) -> FinishedRun | None:
        """The run, trained here with the code that made it; None if that code is not here."""
        folder = self._kept / stratum.old / spec.id
        if found := run_here(folder):
            return found
        with tempfile.TemporaryDirectory(prefix="ngo-carry-") as unpacked:
            package = earlier_package(archived.record.get("source"), Path(unpacked))
            if package is None:
                return None
            where = {"PYTHONPATH": str(package)}
            try:
                found = self._retraining.trained_in(folder, spec, where, archived.record["spec"])
            except UserError:  # it does not run with the libraries that are here
                return None
        if found.about["code"] == stratum.old:
            return found
        shutil.rmtree(folder)
        return None


def carried_over(runs: Mapping[str, FinishedRun], stratum: Stratum, by: str, shown: Shown) -> dict:
    """The runs of a stratum with the key of the present code, by id.

    ``by`` is the run that was trained to show that nothing changes.
    """
    from ngo.training.record import source_revision

    entry = {
        "from": stratum.old,
        "to": stratum.new,
        "shown_by": by,
        "how": shown.how,
        "on": shown.processor,
        "trained_at": revisions([runs[by].record]),
        "carried_at": source_revision() or "unknown",
    }
    return {name: rekeyed(runs[name], entry) for name in stratum.runs}


def repacked(archive: Archive, runs: Mapping[str, FinishedRun], older: bool) -> Members:
    """The members of the archive with these runs.

    ``older`` marks it as made by an earlier revision. The tables of experiments that an archive of
    an earlier version has stay as they are: they do not have what records say of the code.
    """
    described = {key: value for key, value in archive.about.items() if key != OLDER}
    if older:
        described[OLDER] = revisions(run.record for run in runs.values())
    kept = {**archive.members, ABOUT: (json.dumps(described, indent=2) + "\n").encode()}
    return with_runs(kept, described, list(runs.values()))


def _shortest(stratum: Stratum, runs: Mapping[str, FinishedRun]) -> FinishedRun:
    of_it = [runs[name] for name in stratum.runs]
    return min(of_it, key=lambda run: (bool(run.columns["diverged"][-1]), run.seconds, run.id))
