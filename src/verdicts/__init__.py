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

if TYPE_CHECKING:
    from pathlib import Path

    from verdicts.claims import ClaimsFile
    from verdicts.claims.claims_file import read_claims
    from verdicts.comparison import compare
    from verdicts.lazy import pd
    from verdicts.ledger import judge, judged, seed_numbers
    from verdicts.printed_tables import read_printed
    from verdicts.quantities import Quantity, cases, quantity
    from verdicts.registry import UserError
    from verdicts.reproduction import reproduce
    from verdicts.row import Row, as_table
    from verdicts.run_values import final
    from verdicts.statistics import judgement
    from verdicts.statistics.estimates import estimate
    from verdicts.statistics.evidence import Expectation, evidence
    from verdicts.table import Folder, Tables, read_tables

__all__ = [
    "Expectation",  # what evidence is for or against: above 0, for example
    "Quantity",  # an entry of the registry of quantities
    "Row",  # the verdict on a claim or a cell, with its numbers
    "UserError",  # a mistake, in one line
    "as_table",  # rows as a DataFrame
    "cases",  # what a quantity of cases returns
    "check",  # judge the claims of a file on the tables in a folder
    "claims",  # module: what a claims file holds
    "cli",  # module: the command, and its standard streams
    "compare",  # rank methods by a metric
    "estimate",  # the mean over seeds, with Student's t interval
    "evidence",  # what numbers by seed say of an expectation
    "files",  # module: files that a stranger may have made, and files that appear whole
    "final",  # the last evaluation of each run
    "judge",  # judge one claim on a DataFrame
    "judged",  # judge claims and tables that are read already
    "judgement",  # module: the words of verdicts
    "lazy",  # module: libraries that are imported when they are first used
    "printed_tables",  # module: printed numbers and their digits
    "quantities",  # module: the registry of quantities, and those of the judge
    "quantity",  # register a quantity of your own
    "read_claims",  # the claims of a file, checked
    "read_printed",  # the numbers that a paper prints, from CSV, Markdown or LaTeX
    "read_tables",  # the tables in a folder
    "registration",  # module: what was claimed before the runs
    "registry",  # module: named entries; checks that tell a mistake in one line
    "report",  # module: verdicts as text and as pages
    "reproduce",  # compare printed numbers with yours
    "reproduction",  # module: printed numbers and yours, compared, and their page
    "row",  # module: rows in words and counts
    "run_values",  # module: the numbers of runs, and their registry
    "scores",  # module: runs at their best fields
    "seed_numbers",  # the number of each seed of a claim
    "specification_curve",  # the effects of a claim in its universes
    "statistics",  # module: intervals over seeds, rules over universes
    "table",  # module: rows of tables, selected and joined
]

# Where the names are that are no modules of this folder.
_PLACES = {
    **dict.fromkeys(("Quantity", "cases", "quantity"), "quantities"),
    **dict.fromkeys(("Row", "as_table"), "row"),
    **dict.fromkeys(("judge", "judged", "seed_numbers"), "ledger"),
    "compare": "comparison",
    **{"UserError": "registry", "final": "run_values", "judgement": "statistics.judgement"},
    **{"read_claims": "claims.claims_file", "read_printed": "printed_tables"},
    **{"read_tables": "table", "estimate": "statistics.estimates", "reproduce": "reproduction"},
    **dict.fromkeys(("Expectation", "evidence"), "statistics.evidence"),
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'verdicts' has no attribute {name!r}")
    if name not in _PLACES:
        return import_module(f"verdicts.{name}")
    module = import_module(f"verdicts.{_PLACES[name]}")
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
    from verdicts import ledger, registration
    from verdicts.claims.claims_file import read_claims

    file = read_claims(claims)
    registered = registration.read_registration(registration.registration_path(claims))
    read = _checked_tables(file, tables)
    first = registration.first_runs(file, read)
    return registration.with_standing(ledger.judged(file, read), file, registered, first)


def specification_curve(
    claims: str | Path | ClaimsFile, tables: str | Path | Tables, claim: str
) -> pd.DataFrame:
    """The universes of a claim, sorted by effect: its settings, ``effect`` and ``side``.

    ``side`` is 1 where the claim holds beyond the margin, −1 where its opposite does, else 0.
    Claims and tables are files, or read already. Raises a UserError like ``check``, for an unknown
    id, and for a claim without universes.
    """
    from dataclasses import replace

    from verdicts.claims import ClaimsFile, claims_file, universes
    from verdicts.registry import one_of

    file = claims if isinstance(claims, ClaimsFile) else claims_file.read_claims(claims)
    over = {name: listed for name, listed in file.claims.items() if listed.universes is not None}
    one_of("claim", claim, over)
    if not isinstance(tables, Mapping):
        tables = _checked_tables(replace(file, claims={claim: over[claim]}), tables)
    return universes.specification_curve(over[claim], tables)


def _checked_tables(claims: ClaimsFile, folder: str | Path) -> Folder:
    """The tables that claims read, with the columns that they name."""
    from verdicts.claims.conditions import check_names
    from verdicts.table import read_tables

    tables = read_tables(folder, claims.tables)
    check_names(claims, tables)
    return tables
