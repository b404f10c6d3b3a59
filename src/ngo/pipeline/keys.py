"""Keys of the pipeline's products: a product is made again when its key has changed.

A key is a hash of the code that makes the product, of its values, and of the keys of what it is
made from. The workflow passes keys as ``params``, which Snakemake records with each output. File
dates decide nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ngo.common import versions
from ngo.common.fields import Field, fields_of
from ngo.common.fingerprint import PACKAGE, fingerprint
from ngo.common.paths import check_readable
from ngo.common.registry import Registry, UserError
from ngo.data.dataset import DATASETS
from ngo.data.described import identity
from ngo.data.owners import OWNERS, by_owner
from ngo.data.partition import PARTITIONS
from ngo.measures.measurement import MEASUREMENTS
from ngo.report.shipped import SHIPPED
from ngo.training.code import named_files, run_fingerprint
from ngo.training.earlier import record_of
from ngo.training.spec import FIELDS, RunSpec
from verdicts.quantity_registry import QUANTITIES
from verdicts.registration.registered import registration_path

if TYPE_CHECKING:
    from ngo.pipeline.plan import Plan

# The functions that the commands call.
DATA = "ngo.data.download:prepare"
PARTITION = ("ngo.training.partition_file:draw", "ngo.training.partition_file:write")
AGGREGATE = "ngo.analysis.results:aggregate"
UNIVERSES = "ngo.analysis.universes:in_universes"
CLASSES = "ngo.analysis.results:class_counts"
DRAWING = "ngo.figures.making:Opened"
ASSUMPTIONS = "ngo.pipeline.assumptions"
PAGE = ("ngo.pipeline.report_contents", "ngo.report.html_page")
PLAY_SCRIPTS = ("mathematics.js", "setting.js", "drawing.js", "page.js", "input.js")
PLAY_TEXTS = ("play.html.jinja", "play.css", *PLAY_SCRIPTS)
PAGE_TEXTS = ("page.html.jinja", "page.css", "page.js", *(f"play/{name}" for name in PLAY_TEXTS))


class Keys:
    """The keys of what a plan makes; each is computed once, for the code as it is then."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._runs, self._partitions = plan.runs, plan.partition_runs
        # Many products share one: methods that are called for each run remember their results.
        self.data_set = cache(self.data_set)
        self.partition = cache(self.partition)
        self.run = cache(self.run)

    def data_set(self, name: str) -> str:
        """The key of a data set's manifest."""
        code = fingerprint(DATA, *_definitions(DATASETS, name))
        content = identity(name)
        return code if content is None else key(code, content)

    def partition(self, identifier: str) -> str:
        """The key of a partition file."""
        fields = self._partitions[identifier].partition_fields
        owners = by_owner(PARTITIONS[fields["partition"]])
        read = _definitions(OWNERS, fields["dataset"]) if owners else []
        code = fingerprint(*PARTITION, *_chosen(fields, FIELDS), *read)
        files = content(map(str, named_files(fields).values()))
        return key(code, fields, self.data_set(fields["dataset"]), *([files] if files else []))

    def run(self, identifier: str) -> str:
        """The key of a run's files. (Its values are those in its command.)"""
        spec = self._runs[identifier]
        code = run_fingerprint(spec)
        return key(identifier, code, self.partition(spec.partition_id), self._made_with(spec, code))

    def _made_with(self, spec: RunSpec, code: str) -> Mapping[str, str]:
        """The versions of the libraries that decide a run's result.

        Where a table may mix versions, a finished run keeps the versions that made it.
        """
        made = (
            record_of(Path("results/runs", spec.id)) if self.plan.mixed_versions == "tell" else {}
        )
        if made.get("about", {}).get("code") != code:
            return versions.installed()
        return {**versions.installed(), **versions.recorded(made)}

    def table(self, name: str) -> str:
        """The key of a tidy table, by its name below ``results/TIER/metrics``."""
        if name == "runs":
            return self._joined(self._runs)
        if name in self.plan.training:
            runs = self._joined(spec.id for spec in self.plan.training[name])
            found = self.plan.universes.get(name)
            return key(runs, fingerprint(UNIVERSES), list(map(asdict, found))) if found else runs
        kind, _, artefact = name.partition("_")
        if kind == "classes":
            drawn = [spec.partition_id for spec in self.plan.partitions.get(artefact, ())]
            return key(fingerprint(CLASSES), *map(self.partition, drawn))
        return self.measurement(kind, artefact)

    def measurement(self, kind: str, name: str) -> str:
        """The key of a measurement's tidy table."""
        values = self.plan.measures.get(kind, {}).get(name, {})
        entry = MEASUREMENTS[kind]
        fields = {**FIELDS, **fields_of(entry.options)}
        code = fingerprint(MEASUREMENTS.definitions[kind], *_chosen(values, fields))
        kept = self.plan.training.get(name, ()) if entry.on_models else ()
        return key(code, values, [self.run(spec.id) for spec in kept], versions.installed())

    def artefact(self, name: str) -> str:
        """The key of a figure or table: of its file, the code that it reaches, and its inputs."""
        entry, inputs = self.plan.artefacts[name], self.plan.inputs(name)
        tables = [self.table(table) for table in self.plan.tables(name)]
        read = [inputs["reference"]] if entry.reference else []
        code = [fingerprint(DRAWING, entry.source)]
        if "claims" in entry.asks:
            read += [inputs["claims"], *inputs["published"]]
            used = self.plan.ledger.quantities
            code += [fingerprint(QUANTITIES.definitions[each]) for each in used]
        text = [entry.section, entry.title, entry.text]
        return key(code, text, self.plan.notebook_flags(name), tables, content(read))

    def assumptions(self, configs: Iterable[str]) -> str:
        """The key of the table of assumptions."""
        return key(fingerprint(ASSUMPTIONS), content(configs))

    def page(self, made: Iterable[str], texts: Iterable[str]) -> str:
        """The key of the page of results, of products with the keys ``made`` and of text files."""
        own = [_sha256(PACKAGE / "report/page" / name) for name in PAGE_TEXTS]
        named = filter(None, [self.plan.findings])
        read = [*texts, *named, registration_path(self.plan.claims), SHIPPED]
        return key(fingerprint(*PAGE), list(made), [_sha256(Path(path)) for path in read], own)

    def _joined(self, runs: Iterable[str]) -> str:
        return key(fingerprint(AGGREGATE), *(self.run(run) for run in runs))


def key(*parts: object) -> str:
    """16 hex digits of values that JSON can hold."""
    text = json.dumps(parts, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def content(paths: Iterable[str]) -> Mapping[str, str | None]:
    """The SHA-256 of each file by its path; None for one that is absent."""
    return {str(path): _sha256(Path(path)) for path in paths}


@cache
def _sha256(path: Path) -> str | None:
    try:
        return hashlib.sha256(check_readable(path, "key").read_bytes()).hexdigest()
    except UserError:
        return None


def _chosen(values: Mapping[str, object], fields: Mapping[str, Field]) -> Iterator[str]:
    """Where the registered entries that ``values`` name are defined."""
    for name, value in values.items():
        registry = fields[name].names if name in fields else None
        if registry is not None:
            for entry in value if isinstance(value, list | tuple) else [value]:
                yield from _definitions(registry, entry)


def _definitions(registry: Registry, name: str) -> list[str]:
    """Where an entry is defined; empty if it has no code."""
    return [registry.definitions[name]] if name in registry.definitions else []
