"""The registry of measurements: what ``ngo`` measures other than training.

A measurement is a class of options and a function that returns a tidy table, registered together
with ``measurement``. Its config section, command, documentation and workflow rule follow from the
registration. Modules of this package and plugins are imported to read the registry, so torch and
pandas are imported when they are first used.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ngo.common.fields import fields_of, from_mapping
from ngo.common.lazy import Table, Tensor, pd, torch
from ngo.common.seeding import torch_stream
from ngo.data import loading
from ngo.data.dataset import Dataset
from ngo.training.spec import FIELDS, RunSpec
from verdicts.registry import Registry, UserError, check

if TYPE_CHECKING:
    from ngo.engine.population import Population


Measure = Callable[..., Table]

#: The value of each column that tells the rows of a case from those of other cases.
Facts = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """A part of a measurement that can be measured without the others."""

    facts: Facts
    #: Returns its rows.
    measure: Callable[[], Table]


@dataclass(frozen=True)
class Measurement:
    """An entry of the registry."""

    name: str
    #: A frozen dataclass, whose fields are declared with the words of ``common.fields``. Checks of
    #: several fields belong in ``__post_init__``: a UserError begins with the name of a field.
    options: type
    #: ``measure(options)`` returns the table. A measurement of kept models is called with
    #: ``models`` (paths) and ``data_root`` too; one with run fields, with ``make_run``,
    #: ``data_root`` and ``device``; one with ``cases``, with the facts of the case to measure.
    measure: Measure
    #: Whether it reads the models that the training experiment of the same name kept.
    on_models: bool = False
    #: The fields of a run that it needs: from a setting in a config, or as options. They name the
    #: data set. ``make_run(**values)`` returns a RunSpec with these fields and ``values``.
    run_fields: Sequence[str] = ()
    #: Whether no other job may run on the machine meanwhile; it has the GPU if there is one.
    exclusive: bool = False
    #: The columns of the table other than options and fields of runs; empty if not known.
    columns: Sequence[str] = ()
    #: Folders and files of the packages that compute it, beside its own file and those of all
    #: measurements (``pipeline.staleness``): if their bytes change, it is measured again.
    code: tuple[str, ...] = ()
    #: ``cases(options)`` returns the facts of each case of the table in the order of its rows, if
    #: cases can be measured one by one.
    cases: Callable[..., Iterable[Facts]] | None = None

    def known_columns(self) -> set[str]:
        """The names that columns of the table may have; empty if they are not known."""
        of_runs = FIELDS if self.on_models or self.run_fields else ()
        return {*self.columns, *fields_of(self.options), *of_runs} if self.columns else set()

    def parts(self, options: object, **inputs: object) -> list[Case]:
        """The cases of the table for ``options``; one for the whole table if it has none."""
        cases = self.cases(options) if self.cases else [{}]
        return [Case(of, partial(self.measure, options, **of, **inputs)) for of in cases]

    def table(self, options: object, **inputs: object) -> Table:
        """The rows of all cases; ``inputs`` are what ``measure`` needs beside the options."""
        tables = [case.measure() for case in self.parts(options, **inputs)]
        return pd.concat(tables, ignore_index=True)

    def read(self, key: str, entry: Mapping[str, object]) -> Any:
        """The options in a config's entry; a UserError, under ``key``, for the first mistake.

        The name of a setting is not checked here: it belongs to the section ``settings``.
        """
        values = dict(entry)
        if self.run_fields and values.pop("setting", None) is None:
            raise UserError(f"{key}: 'setting' is missing.")
        return from_mapping(self.options, values, key)


MEASUREMENTS: Registry[Measurement] = Registry("measurement")


def measurement(
    name: str, options: type, *, version: int = 1, **facts: Any
) -> Callable[[Measure], Measure]:
    """Register a function as a measurement.

    A function that measures one of several ``cases`` becomes one that measures the whole table.

    ``facts`` are further fields of ``Measurement``: ``on_models``, ``run_fields``, ``exclusive``,
    ``columns``, ``code`` and ``cases``.

    With ``columns``, a claim that names another column is refused before anything is trained.
    ``version`` is raised when its results change.
    """
    right = re.fullmatch("[a-z][a-z0-9]*", name)
    check(right, "measurement", name, "use lower-case letters and digits")
    declared = fields_of(options)
    for option in dataclasses.fields(options):
        instead = f"declare this option of {name!r} with number, whole or choice"
        check(option.name in declared, "measurement", option.name, instead)

    def register(measure: Measure) -> Measure:
        entry = Measurement(name, options, measure, **facts)
        MEASUREMENTS.add(name, entry, measure, version)
        return update_wrapper(partial(entry.table), measure) if entry.cases else measure

    return register


# What measurements of kept models share: the files of runs, and the samples that are drawn.

#: A run, its workers after a step, its data, and the columns of a table that tell of them.
Kept = tuple["RunSpec", "Population", "Dataset", dict[str, object]]


def kept(models: Sequence[Path], data_root: Path, *, last: bool = False) -> Iterator[Kept]:
    """Each snapshot in each file of kept models, or the ``last`` in each."""
    from ngo.training.snapshots import load_snapshots, restored

    for path in models:
        spec, snapshots = load_snapshots(path)
        data = loading.load(spec.dataset, data_root, run=spec)
        facts = {name: value for name, value in spec.values().items() if value is not None}
        facts = {"run": spec.id, **facts, "train_samples": len(data.train_inputs)}
        for step in sorted(snapshots)[-1 if last else 0 :]:
            yield spec, restored(spec, snapshots[step]), data, {**facts, "step": step}


def drawn(options: Any, spec: RunSpec, data: Dataset, stream: str) -> tuple[Tensor, Tensor]:
    """Inputs and targets of ``samples`` training samples; a UserError if the data have fewer."""
    m = len(data.train_inputs)
    wanted = f"{spec.dataset} has {m} training samples"
    check(options.samples <= m, "samples", options.samples, wanted)
    chosen = torch.randperm(m, generator=torch_stream(options.seed, stream))[: options.samples]
    return data.train_inputs[chosen], data.train_targets[chosen]
