"""Verdicts as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict

from verdicts.counts import counts
from verdicts.row import Row

VERSION = 1
"""Of the format: it changes when a field is renamed or removed."""


def as_json(rows: Sequence[Row]) -> str:
    """``{"version": 1, "counts": {…}, "rows": […]}``; a number that is not finite is null or a
    string (``"Infinity"``, ``"-Infinity"``), since JSON has none.
    """
    content = {
        "version": VERSION,
        "counts": counts(rows),
        "rows": [_plain(asdict(row)) for row in rows],
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return None if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
