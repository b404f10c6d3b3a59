"""The registry of measurements: what ``ngo`` measures beside training.

A measurement is a settings class and a function that returns a tidy table, registered together with
``measurement``. Its config section, command, documentation and workflow rule follow from the
registration. Modules of this package and plugins are imported to read the registry, so torch and
pandas are imported inside the functions.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ngo.common.registry import Registry, UserError
from ngo.measures.settings import settings_of

if TYPE_CHECKING:
    import pandas as pd

Measure = Callable[..., "pd.DataFrame"]
Summary = Callable[["pd.DataFrame"], Iterable[str]]

# Other commands, and other keys of a config.
TAKEN = (
    *("data", "partition", "train", "runs", "aggregate", "classes", "notebook", "kernel", "bench"),
    *("assumptions", "archive", "rebuild", "report", "claims", "tier", "device", "threads", "warm"),
    *("plugins", "resources", "seeds", "defaults", "settings", "training", "partitions"),
    *("artefacts", "restore", "verify", "carry", "methods", "describe", "only", "network"),
    *("findings", "mixed_versions"),
)

# Parameters and options that every command may have.
RESERVED = ("models", "setting", "device", "data_root", "plugin", "out")


@dataclass(frozen=True)
class Case:
    """A part of a measurement that can be measured without the others."""

    #: The value of each column that tells its rows from those of other cases.
    facts: Mapping[str, object]
    #: Returns its rows.
    measure: Callable[[], pd.DataFrame]


@dataclass(frozen=True)
class Measurement:
    """An entry of the registry."""

    name: str
    #: The settings class: a frozen dataclass with fields declared by ``settings.setting``.
    settings: type
    #: ``measure(settings)`` returns the table. A measurement of kept models is called with
    #: ``models`` (paths) and ``data_root`` too; one with run fields, with ``make_run``,
    #: ``data_root`` and ``device``.
    measure: Measure
    #: Whether it reads the models that the training experiment of the same name kept.
    on_models: bool
    #: The fields of a run that it needs: from a setting in a config, or as options. They name the
    #: data set. ``make_run(**values)`` returns a RunSpec with these fields and ``values``.
    run_fields: tuple[str, ...]
    #: Whether no other job may run on the machine meanwhile; it has the GPU if there is one.
    exclusive: bool
    #: The lines that the command prints about the table.
    summary: Summary
    #: The columns of the table, beside settings and fields of runs; empty: they are not known.
    columns: tuple[str, ...] = ()
    #: ``cases(settings)`` returns the cases of the table in the order of its rows, if they can be
    #: measured one by one.
    cases: Callable[..., Iterable[Case]] | None = None

    @property
    def help(self) -> str:
        """The documentation of the function, for the command."""
        return inspect.getdoc(self.measure) or ""

    def known_columns(self) -> set[str]:
        """The names that columns of the table may have; empty if they are not known."""
        if not self.columns:
            return set()
        from ngo.training.spec import FIELDS

        of_runs = FIELDS if self.on_models or self.run_fields else ()
        return {*self.columns, *settings_of(self.settings), *of_runs}

    def check_columns(self, found: Iterable[str]) -> None:
        """Raise a UserError for a column of the table that is not declared."""
        known = self.known_columns()
        for name in found:
            if known and name not in known:
                raise UserError(
                    f"measurement: the table of {self.name!r} has a column {name!r}, which its "
                    f"columns=(…) do not declare."
                )

    def parts(self, settings: object) -> list[Case]:
        """The cases of the table for ``settings``; one for the whole table if it has none."""
        if self.cases is None:
            return [Case({}, lambda: self.measure(settings))]
        return list(self.cases(settings))


MEASUREMENTS: Registry[Measurement] = Registry("measurement")


def measurement(
    name: str,
    settings: type,
    *,
    on_models: bool = False,
    run_fields: Iterable[str] = (),
    exclusive: bool = False,
    summary: Summary = lambda table: (),
    columns: Iterable[str] = (),
    cases: Callable[..., Iterable[Case]] | None = None,
) -> Callable[[Measure], Measure]:
    """Register a function as a measurement; the arguments are the fields of ``Measurement``.

    With ``columns``, a claim that names another column is refused before anything is trained.
    """
    if not re.fullmatch("[a-z][a-z0-9]*", name):
        raise UserError(f"measurement: {name!r} is not allowed; use lower-case letters and digits.")
    if name in TAKEN:
        raise UserError(
            f"measurement: {name!r} is a name of a command or of a config's key; choose another."
        )
    taken = (*RESERVED, *run_fields)
    for each in settings_of(settings):
        if each in taken:
            raise UserError(f"measurement: {name!r} has a setting {each!r}; choose another name.")
    if on_models and run_fields:
        raise UserError(f"measurement: {name!r} has both models and run fields; choose one.")

    def register(measure: Measure) -> Measure:
        entry = Measurement(
            name,
            settings,
            measure,
            on_models,
            tuple(run_fields),
            exclusive,
            summary,
            tuple(columns),
            cases,
        )
        MEASUREMENTS.add(name, entry, measure)
        return measure

    return register


def measured(cases: Iterable[Case]) -> pd.DataFrame:
    """The rows of all cases."""
    import pandas as pd

    return pd.concat([case.measure() for case in cases], ignore_index=True)
