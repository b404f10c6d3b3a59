"""Files of jobs: what the workflow writes for a job, and the job reads, known by their hash."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from ngo.common.registry import UserError


def job_text(**content: object) -> str:
    """The text of a job's file."""
    return json.dumps(content, sort_keys=True, indent=1) + "\n"


def job_key(text: str) -> str:
    """The key of a job: 16 hex digits of its file's text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_job(path: Path, key: str) -> dict[str, Any]:
    """The content of a job's file; a UserError if it does not have the ``key``."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        text = ""
    if job_key(text) != key:
        raise UserError(
            f"job: {str(path)!r} is absent, or was changed after the job was planned; run "
            "snakemake again."
        )
    found: dict[str, Any] = json.loads(text)
    return found
