"""How an archive says that runs of earlier code are what the present code gives.

The record of a carried run has the key of the present code (``about.code``), and in the list
``carried`` an entry for each change of the key: both keys, the run that was trained to show it, how
it was compared, where, and at which revision. The record's ``source`` stays the revision that
trained the run. ``carried.json`` lists the entries of all records, each with its number of runs.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from ngo.pipeline.archives.members import CARRIED
from ngo.pipeline.archives.packed_runs import FinishedRun

Entry = dict[str, str]


def rekeyed(run: FinishedRun, entry: Entry) -> FinishedRun:
    """``run`` with the key ``entry["to"]``, and the entry in its record."""
    record = dict(run.record)
    record["about"] = {**record["about"], "code": entry["to"]}
    record["carried"] = [*record.get("carried", ()), entry]
    return replace(run, record=record)


def listed(runs: Iterable[FinishedRun]) -> dict[str, bytes]:
    """The member ``carried.json`` of an archive of ``runs``; no member if none was carried."""
    found = Counter(
        json.dumps(entry, sort_keys=True) for run in runs for entry in run.record.get("carried", ())
    )
    if not found:
        return {}
    entries = [{**json.loads(text), "runs": count} for text, count in sorted(found.items())]
    return {CARRIED: (json.dumps(entries, indent=2) + "\n").encode()}
