"""The registry of quantities: the numbers by which claims are judged.

A quantity is a function of the rows of tidy tables that a claim selects, all their evaluations
included, and of the claim's arguments (``with``). It returns one of two things:

- one number per seed, a Series of floats indexed by seed. Values of one seed are combined within
  the seed (paired differences, ratios as logs, slopes, Fisher z), so that seeds are independent. A
  seed that is missing is NaN or absent. ±inf: a diverged run decides the comparison of its seed.
- cases, if registered with ``cases=True``: a DataFrame with the columns ``case`` (its name),
  ``measured``, ``limit`` and ``met`` (bool).

The annotations of arguments say what the workflow checks before anything is trained
(``pipeline.claim_filters``): ``Selection``, rows of the table; ``Column``, one of its columns;
``Value``, a number of a run (``run_values``); ``Mixer``, a way to mix. Others are not checked.

``rows`` always has at least one row. The function raises a UserError in one line if the rows lack
what it needs; the claim is then not run, for that reason.

Modules of ``quantities`` and plugins are imported to read the registry, so pandas, numpy and scipy
are imported inside the functions.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from verdicts.registry import Registry, load_entries

if TYPE_CHECKING:
    import pandas as pd

Function = Callable[..., "pd.Series | pd.DataFrame"]

KINDS = ("Selection", "Column", "Value", "Mixer")
"""The annotations of arguments that are checked."""


@dataclass(frozen=True)
class Quantity:
    """An entry of the registry."""

    name: str
    function: Function
    #: Whether it returns cases, not one number per seed.
    cases: bool

    @property
    def kinds(self) -> dict[str, str]:
        """What the arguments besides ``rows`` are: one of ``KINDS`` each, or empty."""
        _, *others = inspect.signature(self.function).parameters.values()
        words = {each.name: set(re.findall(r"\w+", str(each.annotation))) for each in others}
        return {
            name: next((kind for kind in KINDS if kind in found), "")
            for name, found in words.items()
        }

    @property
    def arguments(self) -> dict[str, bool]:
        """The names of the arguments besides ``rows``, and whether each is required."""
        _, *others = inspect.signature(self.function).parameters.values()
        return {each.name: each.default is inspect.Parameter.empty for each in others}


QUANTITIES: Registry[Quantity] = Registry("quantity")


def quantity(name: str, *, cases: bool = False) -> Callable[[Function], Function]:
    """Register ``f(rows, **arguments)`` as a quantity; arguments are named in its signature."""

    def register(function: Function) -> Function:
        QUANTITIES.add(name, Quantity(name, function, cases), function)
        return function

    return register


load_entries("ngo.analysis.quantities")
