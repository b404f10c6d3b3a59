"""Numbers of seeds, and runs at their best fields."""

from verdicts.rows.best_fields import at_best, best
from verdicts.rows.seed_values import mean_over

__all__ = [
    "at_best",
    "best",
    "mean_over",
]
