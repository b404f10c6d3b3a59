"""Where results come from: the records of runs, summarized."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ngo.analysis import results

UNKNOWN = "not recorded"


def provenance(
    records: Sequence[Mapping], configs: Iterable[str], plugins: Iterable[str] = ()
) -> list[tuple[str, str]]:
    """Facts about the runs, each a name and a text, from the contents of their ``run.json``.

    Where runs differ, each value is followed by the number of runs that have it.
    """
    wall = sum(record["wall_seconds"] for record in records)
    processor = []
    if any("processor" in record for record in records):
        processor = [("Processor", tally(records, "processor"))]
    libraries = sorted({name for record in records for name in record.get("versions", {})})
    return [
        ("Runs", str(len(records))),
        ("Training time", f"{wall / 3600:.2f} hours, the sum over runs"),
        ("Source revision", tally(records, "source")),
        ("Results version", tally(records, "about", "code")),
        ("Device", tally(records, "device")),
        *processor,
        ("Instructions", tally(records, "about", "instructions")),
        ("Seeds", seeds(record["seed"] for record in records)),
        ("Data sets", tally(records, "spec", "dataset")),
        *((f"Version of {name}", tally(records, "versions", name)) for name in libraries),
        ("Config", ", ".join(configs)),
        ("Plugins", ", ".join(sorted(plugins)) or "none"),
    ]


def tally(records: Sequence[Mapping], *keys: str) -> str:
    """The values at a path of keys, the most frequent first, with their numbers if they differ."""
    found = []
    for record in records:
        value: object = record
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None
        found.append(UNKNOWN if value is None or value == "" else str(value))
    return results.tally(found) if len(set(found)) > 1 else (found or [UNKNOWN])[0]


def seeds(values: Iterable[int]) -> str:
    """``0 to 4, 7``: the distinct seeds, runs of successive ones as a range."""
    spans: list[list[int]] = []
    for value in sorted(set(values)):
        if spans and value == spans[-1][1] + 1:
            spans[-1][1] = value
        else:
            spans.append([value, value])
    return ", ".join(f"{a}" if a == b else f"{a} to {b}" for a, b in spans) or "none"
