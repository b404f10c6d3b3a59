"""Intervals over seeds, and rules over universes."""

from verdicts.statistics.multiverse import Multiverse
from verdicts.statistics.rules import meets, readable, spoken
from verdicts.statistics.samples import ALPHA, FEWEST, ROUNDING, exceeds

__all__ = ["ALPHA", "FEWEST", "ROUNDING", "Multiverse", "exceeds", "meets", "readable", "spoken"]
