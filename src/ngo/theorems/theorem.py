"""The registry of measurements on the theorems: the parts of the table of ``ngo theory``.

Each file of this folder is about one theorem, lemma or statement of the paper. Its docstring states
it, a ``part`` measures it, and a ``quantity``, which a claim can name, judges the measurement. The
files are imported to read the registries, so torch and pandas are imported inside the functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from ngo.common.registry import Registry, UserError, unknown
from ngo.common.types import Numbers, Table

if TYPE_CHECKING:
    from ngo.measures.theory_table import TheoryOptions


Options: TypeAlias = "TheoryOptions"
Rows: TypeAlias = Iterator[tuple]
Measure = Callable[["TheoryOptions"], Iterable[Sequence[object]]]


@dataclass(frozen=True)
class Part:
    """The rows of one kind."""

    #: ``rows(options)`` measures them; the values of a row are in the order of the columns.
    rows: Measure
    columns: tuple[str, ...]

    def table(self, options: TheoryOptions) -> Table:
        """The rows as a table."""
        import pandas as pd

        return pd.DataFrame(list(self.rows(options)), columns=list(self.columns))


PARTS: Registry[Part] = Registry("kind")


def part(kind: str, *columns: str) -> Callable[[Measure], Measure]:
    """Register a function that measures the rows of ``kind``: tuples of these columns' values."""

    def register(rows: Measure) -> Measure:
        PARTS.add(kind, Part(rows, columns), rows)
        return rows

    return register


def rows_of(table: Table, kind: str) -> Table:
    """The rows of ``kind`` with the columns that they have; a UserError if there are none."""
    rows = table[table["kind"] == kind] if "kind" in table else table.iloc[:0]
    if rows.empty:
        raise UserError(f"kind: the theory table has no rows of kind {kind!r}; measure it again.")
    return rows.drop(columns="kind").dropna(axis=1, how="all").reset_index(drop=True)


def checked_form(form: str, forms: Iterable[str]) -> str:
    """``form`` if it is one of ``forms``, in which the paper or a correction states a theorem."""
    if form not in (known := tuple(forms)):
        raise unknown("form", form, known)
    return form


def by_seed(values: Numbers) -> Numbers:
    """``values``, indexed by seed, as floats with seeds as whole numbers."""
    values = values.astype(float)
    values.index = values.index.astype(int)
    return values.rename_axis("seed")
