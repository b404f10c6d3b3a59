"""The judge of claims: a claims file and tidy tables in, verdicts out.

    import verdicts

    rows = verdicts.check("claims.yaml", "tables/")
    print(verdicts.as_table(rows)[["claim", "verdict", "estimate", "low", "high"]])

``quantity`` registers a new quantity. A mistake raises a ``UserError``. The public names are those
of ``__all__``; of a module, those that its page documents.

Importing the package is quick: a name's module is imported when the name is first used.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # typing's own, without the import

# ruff: noqa: F401 (type checkers and editors find the public names)
if TYPE_CHECKING:
    from verdicts.claims.claims_file import read_claims
    from verdicts.claims.universes import specification_curve
    from verdicts.comparison import compare
    from verdicts.judging import check, judge, judged, seed_numbers
    from verdicts.printed_tables import read_printed
    from verdicts.quantities import quantity
    from verdicts.registry import UserError
    from verdicts.reproduction import reproduce
    from verdicts.run_values import final
    from verdicts.statistics import judgement
    from verdicts.statistics.evidence import Expectation, evidence
    from verdicts.statistics.samples import estimate
    from verdicts.table import read_tables
    from verdicts.verdict_rows import Row, as_table

# Where each public name is; a module of this folder is where its name says.
_PLACES = {
    "Expectation": "statistics.evidence",  # what evidence is for or against: above 0, for example
    "Row": "verdict_rows",  # the verdict on a claim or a cell, with its numbers
    "UserError": "registry",  # a mistake, in one line
    "as_table": "verdict_rows",  # rows as a DataFrame
    "check": "judging",  # judge the claims of a file on the tables in a folder
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
    "specification_curve": "claims.universes",  # the effects of a claim in its universes
}

# The public modules; each says at its start what it is of.
_MODULES = "archive candidates claims cli files lazy members printed_tables quantities registration"
_MODULES += " registry report reproduction run_values scores statistics table verdict_rows"

__all__ = sorted([*_PLACES, *_MODULES.split()])


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'verdicts' has no attribute {name!r}")
    module = import_module(f"verdicts.{_PLACES.get(name, name)}")
    return getattr(module, name, module)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
