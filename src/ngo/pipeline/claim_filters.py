"""Checks of the tables, columns and values that claims name, before anything is trained.

A mistake is a column that no table of the claim has, an unknown name, or a number outside the range
of its field. A value that no run of this config has is no mistake: the claim is then not run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields

from ngo.analysis.best_in_rounds import Mixer
from ngo.analysis.universes import CHOSEN, DERIVED, READ_AS, columns
from ngo.common.fields import Field, checked, fields_of
from ngo.common.registries import COUPLINGS, PARTITIONS
from ngo.measures.measurement import MEASUREMENTS
from ngo.pipeline.experiments import PREFIX
from ngo.training.evaluation import Evaluation
from ngo.training.spec import FIELDS
from verdicts.claims import Claim, ClaimsFile, Gate, named_columns, selected_rows
from verdicts.quantities import QUANTITIES, within
from verdicts.registry import UserError, as_list, one_of, shown, unknown

# The columns of an experiment's tidy table, other than the fields of its runs.
OF_RUNS = {
    *(column.name for column in fields(Evaluation) if column.name != "seconds"),
    *("run", "train_samples", "classes_covered", "parameters"),
}

# The columns of a tidy table of partitions, other than the fields that partitions read.
OF_PARTITIONS = {"dataset", "holdout", "partition", "workers", "seed", "worker", "label", "samples"}

# The ways to mix that are not couplings.
MIXERS = ("linear", "NGO", "chebyshev")


def check_tables(claims: ClaimsFile, defined: Collection[str], shown_in: Collection[str]) -> None:
    """Raise a UserError for a claim that names an unknown tidy table, figure or table.

    ``defined`` are the names of the config's tidy tables, including those that it leaves out;
    ``shown_in`` are the names of figures and tables.
    """
    for claim in claims.claims.values():
        if claim.shows and claim.shows not in shown_in:
            raise unknown(f"claims.{claim.id}.shows", claim.shows, shown_in)
        for table in claim.tables:
            one_of(f"claims.{claim.id}.from", table, defined)


def check_filters(claims: ClaimsFile, experiments: Collection[str]) -> None:
    """Raise a one-line UserError for the first name or value that no row can have.

    ``experiments`` are the names of the config's training experiments.
    """
    for claim in claims.claims.values():
        for place, entry in claims.conditions(claim).items():
            names = entry.tables or claim.tables
            _check(place, entry, [Table(name, experiments) for name in names])


class Table:
    """The columns and fields of a tidy table, before it is made."""

    def __init__(self, name: str, experiments: Collection[str]) -> None:
        kind = name.partition("_")[0] if name not in experiments else ""
        entry = MEASUREMENTS.get(kind)
        #: Whether its rows are evaluations of runs.
        self.trained = entry is None and kind != "classes"
        #: The fields: the allowed values of columns.
        self.fields: dict[str, Field] = {**FIELDS, **(fields_of(entry.options) if entry else {})}
        if entry:
            #: The names of its columns; empty if they are not known.
            self.columns = entry.known_columns()
        elif kind == "classes":
            self.columns = OF_PARTITIONS.union(*(rule.fields for rule in PARTITIONS.values()))
        else:
            self.columns = OF_RUNS | set(FIELDS)
            if name.startswith(PREFIX):
                settings = columns(dict.fromkeys([*FIELDS, *READ_AS, *DERIVED]))
                self.columns |= {"universe", *CHOSEN.values(), *settings}


def _check(key: str, entry: Claim | Gate, tables: list[Table]) -> None:
    """Check the rows that a claim or a gate selects, and the arguments of its quantity."""
    columns = [table.columns for table in tables]
    if all(columns):  # they are known
        known = set().union(*columns)
        for place, column in named_columns(key, entry, known):
            one_of(place, column, known)
    for place, where in selected_rows(key, entry):
        for name, wanted in where.items():
            # The ends of a range are numbers.
            for value in as_list(wanted) if not isinstance(wanted, Mapping) else ():
                _check_value(f"{place}.{name}", name, value, tables)
    types = QUANTITIES[entry.quantity].types if entry.quantity else {}
    for name, value in entry.arguments.items():
        place = f"{key}.with.{name}"
        if within(Mixer, types[name]):
            one_of(place, value, {*MIXERS, *COUPLINGS})
        elif name in FIELDS and FIELDS[name].names is not None:
            checked(place, value, FIELDS[name])


def _check_value(key: str, name: str, value: object, tables: Iterable[Table]) -> None:
    """Raise unless one of the tables may have the value in the column ``name``."""
    if value is None:  # missing
        return
    mistakes = []
    for table in tables:
        try:
            if name in table.fields:
                checked(key, value, table.fields[name])
            elif table.trained and name != "run" and not isinstance(value, int | float):
                raise UserError(f"{key}: {shown(value)} is not allowed; it must be a number.")
        except UserError as error:
            mistakes.append(error)
        else:
            return
    raise mistakes[0]
