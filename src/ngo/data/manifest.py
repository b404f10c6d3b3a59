"""The manifest of a data set, which the pipeline writes once the files are verified."""

from __future__ import annotations

import json

from ngo.data.dataset import DATASETS
from ngo.data.described import DESCRIBED, identity


def manifest_text(name: str, samples: int) -> str:
    """The manifest, as JSON, of a data set with this number of training ``samples``."""
    facts = {"dataset": name, "train_samples": samples, "files": DATASETS[name].files}
    if name in DESCRIBED:
        facts["content"] = identity(name)
    return json.dumps(facts, indent=2) + "\n"
