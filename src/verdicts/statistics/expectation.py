"""What a claim expects of a quantity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

RELATIONS = ("above", "below", "near", "paper")


@dataclass(frozen=True)
class Expectation:
    """What a claim says about the mean of a quantity over seeds."""

    relation: str
    """``above`` or ``below`` the value; ``near`` it, within the margin; or the value is the one
    that the ``paper`` prints."""
    value: float
    margin: float | None = None
    """In the unit of the quantity; required by ``near`` and ``paper``. With ``above`` and
    ``below``, the largest difference from the value that counts as none."""

    @property
    def directed(self) -> bool:
        """Whether it is a direction, not a value."""
        return self.relation in ("above", "below")

    def toward(self, values: pd.Series) -> pd.Series:
        """How far values are from the expected one, on the side of the direction."""
        return values - self.value if self.relation == "above" else self.value - values

    def __str__(self) -> str:
        if self.margin is None:
            return f"{self.relation} {self.value:g}"
        sign = " ±" if self.relation in ("near", "paper") else "; margin"
        return f"{self.relation} {self.value:g}{sign} {self.margin:g}"
