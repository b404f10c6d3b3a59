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

# The public names of each module; what each is for is told in its docstring.
_NAMES = {
    "claims.claims_file": "read_claims",
    "claims.universes": "specification_curve",
    "comparison": "compare",
    "judging": "check judge judged seed_numbers",
    "printed_tables": "read_printed",
    "quantities": "quantity",
    "registry": "UserError",
    "reproduction": "reproduce",
    "run_values": "final",
    "statistics.evidence": "Expectation evidence",
    "statistics.judgement": "judgement",
    "statistics.samples": "estimate",
    "table": "read_tables",
    "verdict_rows": "Row as_table",
}
_PLACES = {name: module for module, names in _NAMES.items() for name in names.split()}

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
