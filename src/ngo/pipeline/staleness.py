"""Keys of what the workflow makes: a product is made again when its key, a param, has changed.

What is drawn and judged goes by the bytes of the folders that make it; data, partitions and
measurements by their values, the numbers of results and the libraries. The key of a job is the hash
of its file (``ngo.pipeline.jobs``). Snakemake's checksums of inputs do the rest.

Light: the workflow imports this module at every start.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from ngo.common import versions
from ngo.common.files import hashed
from ngo.data.description import identity
from ngo.measures.measurement import MEASUREMENTS
from ngo.pipeline.paths import PACKAGE
from ngo.report.contents import SHIPPED
from ngo.training.results_version import RESULTS_VERSION
from verdicts.registration import registration_path

#: The folders for tidy tables of runs, for figures and verdicts, and for pages.
JOINED = ("ngo/analysis", "ngo/training/tidy.py")
GRAPHS = tuple(
    f"ngo/gossip/{name}"
    for name in ("bounds.py", "mixing_matrix.py", "spectrum.py", "topology.py", "topologies")
)
DRAWN = (*JOINED, *GRAPHS, "ngo/plots", "ngo/printing.py", "verdicts")
PRINTED = (*DRAWN, "ngo/report")
MEASURED = ("ngo/measures", "ngo/theorems")
#: The libraries that draw and judge.
DRAWING = ("matplotlib", "pandas", "scipy", "seaborn")


def key(*parts: object) -> str:
    """16 hex digits of values that JSON can hold."""
    return hashed(json.dumps(parts, sort_keys=True))


@cache
def code(*folders: str) -> str:
    """16 hex digits of files of the packages, and of those in folders, such as ``ngo/plots``."""
    files: list[Path] = []
    for path in (PACKAGE.parent / folder for folder in folders):
        files += path.rglob("*.*") if path.is_dir() else [path.resolve(strict=True)]
    return content(path for path in sorted(files) if "__pycache__" not in path.parts)


def content(paths: Iterable[str | Path]) -> str:
    """16 hex digits of the bytes of files and their order; an absent file counts as empty."""
    digest = hashlib.sha256()
    for path in map(Path, paths):
        digest.update(hashlib.sha256(path.read_bytes() if path.is_file() else b"").digest())
    return digest.hexdigest()[:16]


def data_set(name: str) -> str:
    """The key of a data set's manifest."""
    return key(identity(name))


def measurement(kind: str, values: object, plugins: Iterable[str]) -> str:
    """The key of a measurement's tidy table; ``plugins`` may have registered what it measures."""
    number = MEASUREMENTS.versions.get(kind, 1)
    made_with = {**versions.installed(), "results": RESULTS_VERSION, "version": number}
    return key(code(*MEASURED), values, content(plugins), made_with)


def artefact(section: str, plugins: Iterable[str]) -> str:
    """The key of a table or figure; ``plugins`` may have registered the quantities of claims."""
    made_with = versions.installed(DRAWING)
    return key(code(*DRAWN), section, content(plugins) if plugins else "", made_with)


def page(claims: str, findings: str | None) -> str:
    """The key of the page of results: its code, and the texts that no rule makes."""
    named = filter(None, [findings, registration_path(claims), SHIPPED])
    return key(code(*PRINTED), content(named))
