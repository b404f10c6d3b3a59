"""The judge of claims: a claims file and tidy tables in, verdicts out.

    import verdicts

    rows = verdicts.check("claims.yaml", "tables/")
    print(verdicts.as_table(rows)[["claim", "verdict", "estimate", "low", "high"]])

``quantity`` registers a new quantity. A mistake raises a ``UserError``. The public names are those
of ``__all__``; of a module, those that its page documents.

Importing the package is quick: a name's module is imported when the name is first used.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

TYPE_CHECKING = False  # typing's own, without the import

# ruff: noqa: F401 (type checkers find the public names)
if TYPE_CHECKING:
    from pathlib import Path

    from verdicts.claims import ClaimsFile
    from verdicts.claims.claims_file import read_claims
    from verdicts.comparison import compare
    from verdicts.judging import judge, judged, seed_numbers
    from verdicts.lazy import pd
    from verdicts.printed_tables import read_printed
    from verdicts.quantities import quantity
    from verdicts.registry import UserError
    from verdicts.reproduction import reproduce
    from verdicts.run_values import final
    from verdicts.statistics import judgement
    from verdicts.statistics.evidence import Expectation, evidence
    from verdicts.statistics.samples import estimate
    from verdicts.table import Folder, Tables, read_tables
    from verdicts.verdict_rows import Row, as_table

# Where each public name is; a module of this folder is where its name says.
_PLACES = {
    "Expectation": "statistics.evidence",  # what evidence is for or against: above 0, for example
    "Row": "verdict_rows",  # the verdict on a claim or a cell, with its numbers
    "UserError": "registry",  # a mistake, in one line
    "as_table": "verdict_rows",  # rows as a DataFrame
    "compare": "comparison",  # rank methods by a metric
    "estimate": "statistics.samples",  # the mean over seeds, with Student's t interval
    "evidence": "statistics.evidence",  # what numbers by seed say of an expectation
    "final": "run_values",  # the last evaluation of each run
    "judge": "judging",  # judge one claim on a DataFrame
    "judged": "judging",  # judge claims and tables that are read already
    "judgement": "statistics.judgement",  # module: the words of verdicts
    "quantity": "quantities",  # register a quantity of your own
    "read_claims": "claims.claims_file",  # the claims of a file, checked
    "read_printed": "printed_tables",  # a paper's numbers, from CSV, Markdown or LaTeX
    "read_tables": "table",  # the tables in a folder
    "reproduce": "reproduction",  # compare printed numbers with yours
    "seed_numbers": "judging",  # the number of each seed of a claim
}

# The public modules; each says at its start what it is of.
_MODULES = ["claims", "cli", "files", "lazy", "printed_tables", "quantities", "registration"]
_MODULES += ["registry", "report", "reproduction", "run_values", "scores", "statistics"]
_MODULES += ["table", "verdict_rows"]

# ``check`` judges the claims of a file on the tables in a folder; ``specification_curve`` has the
# effects of a claim in its universes.
__all__ = sorted([*_PLACES, *_MODULES, "check", "specification_curve"])


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'verdicts' has no attribute {name!r}")
    module = import_module(f"verdicts.{_PLACES.get(name, name)}")
    return getattr(module, name, module)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def check(claims: str | Path, tables: str | Path) -> list[Row]:
    """Judge the claims in a file on the tables in a folder (NAME.parquet or NAME.csv).

    Returns a row for each claim, in the file's order, each followed by those of its cells. A claim
    whose table or rows are not there is "not run". If the claims are registered, and tables have
    the column ``started``, the rows say whether a claim was registered before its first run.

    Raises a UserError, in one line, for the first mistake in the claims file, its registration or
    its tables: a column that a table lacks, or a text where a claim reads a number. What an
    optional claim lacks is no mistake.
    """
    from verdicts import judging, registration
    from verdicts.claims.claims_file import read_claims

    file = read_claims(claims)
    registered = registration.read_registration(registration.registration_path(claims))
    read = _checked_tables(file, tables)
    first = registration.first_runs(file, read)
    return registration.with_standing(judging.judged(file, read), file, registered, first)


def specification_curve(
    claims: str | Path | ClaimsFile, tables: str | Path | Tables, claim: str
) -> pd.DataFrame:
    """The universes of a claim, sorted by effect: its settings, ``effect`` and ``side``.

    ``side`` is 1 where the claim holds beyond the margin, −1 where its opposite does, else 0.
    Claims and tables are files, or read already. Raises a UserError like ``check``, for an unknown
    id, and for a claim without universes.
    """
    from verdicts.claims import ClaimsFile, claims_file, universes
    from verdicts.registry import one_of

    file = claims if isinstance(claims, ClaimsFile) else claims_file.read_claims(claims)
    over = {name: each for name, each in file.claims.items() if each.universes is not None}
    read = tables if isinstance(tables, Mapping) else _checked_tables(file, tables)
    return universes.specification_curve(over[one_of("claim", claim, over)], read)


def _checked_tables(claims: ClaimsFile, folder: str | Path) -> Folder:
    """The tables that claims read, with the columns that they name."""
    from verdicts.claims.conditions import check_names
    from verdicts.table import read_tables

    tables = read_tables(folder, claims.tables)
    check_names(claims, tables)
    return tables
