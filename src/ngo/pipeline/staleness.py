"""Keys of what the workflow makes: if a product's key changes, Snakemake makes it again.

A key has to change when the code behind the product does. Two things stand for code:

- a version number, for the folders ``common``, ``data``, ``engine``, ``models``, ``native`` and
  ``training``, and for modules that register entries: ``RESULTS_VERSION``, or ``version=`` of an
  entry. A test trains tiny runs and fails where bytes changed and no number was raised.
- the bytes of files, for all else: the lists below, and the ``code`` of a measurement. A test
  follows the imports and fails for a module that is in no list and has no number. (``cli`` computes
  nothing.)

The key of a job is the hash of its file (``ngo.pipeline.jobs``). Changed inputs of a product are
found by Snakemake's checksums.

Light: the workflow imports this module at every start.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from ngo.common import versions
from ngo.common.fields import fields_of
from ngo.common.files import hashed
from ngo.measures.measurement import MEASUREMENTS
from ngo.pipeline.paths import PACKAGE
from ngo.report.contents import SHIPPED
from ngo.training.results_version import results_version, version_of
from ngo.training.spec import FIELDS, RunSpec
from verdicts.registration import registration_path

#: The mathematics that measurements and figures share with runs, and of which they ask more.
SHARED = "bounds card_graphs consensus_dynamics exchange gossip_step mixing_matrix topology"
MATHEMATICS = tuple(f"ngo/gossip/{name}.py" for name in SHARED.split())
#: What makes every measured table; tidy tables of runs; figures and verdicts; and pages.
MEASURED = (*MATHEMATICS, "ngo/measures/measurement.py")
UNIVERSES = ("ngo/analysis/universes.py",)
TABLES = ("ngo/analysis/table_files.py", "ngo/training/tidy.py", "verdicts/files.py")
JOINED = (*MATHEMATICS, *UNIVERSES, *TABLES)
DRAWN = (
    *(*JOINED, "ngo/analysis", "ngo/data/heterogeneity.py", "ngo/theorems/table.py", "ngo/plots"),
    *("ngo/printing.py", "ngo/pipeline/notebooks.py", "verdicts"),
)
PRINTED = (*DRAWN, *MEASURED, "ngo/pipeline", "ngo/report")
#: The libraries that measure; those that draw, judge and print too.
LIBRARIES = (*versions.LIBRARIES, "scipy")
MORE = ("docutils", "jinja2", "matplotlib", "pandas", "pylatexenc", "seaborn", "tabulate")


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


def measurement(
    kind: str, values: Mapping[str, object], plugins: Iterable[str], runs: Iterable[RunSpec] = ()
) -> str:
    """The key of a measurement's tidy table; ``plugins`` may have registered what it measures.

    ``runs`` are those whose models it reads.
    """
    entry = MEASUREMENTS[kind]
    defaults = {name: field.default for name, field in FIELDS.items() if entry.run_fields}
    used = {version_of({**defaults, **values}, {**FIELDS, **fields_of(entry.options)})}
    used |= {results_version(spec) for spec in runs}
    own = content([inspect.getfile(entry.measure), *plugins])
    made_with = {**versions.installed(LIBRARIES), "version": MEASUREMENTS.versions.get(kind, 1)}
    return key(code(*MEASURED, *entry.code), own, values, sorted(used), made_with)


def drawn(folders: tuple[str, ...] = DRAWN) -> str:
    """The key of what the code in ``folders`` makes of tidy tables, with any entry of a run."""
    entries = {name: list(field.names) for name, field in FIELDS.items() if field.names}
    return key(code(*folders), version_of(entries), dict(versions.installed(LIBRARIES + MORE)))


def artefact(section: str, plugins: Iterable[str]) -> str:
    """The key of a table or figure; ``plugins`` may have registered the quantities of claims."""
    return key(drawn(), section, content(plugins))


def page(claims: str, findings: str | None) -> str:
    """The key of the page of results: its code, and the texts that no rule makes."""
    return key(drawn(PRINTED), content([findings or "", registration_path(claims), SHIPPED]))
