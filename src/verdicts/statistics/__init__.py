"""Intervals over seeds, and rules over universes."""

from verdicts.statistics.multiverse import Multiverse
from verdicts.statistics.samples import ALPHA, FEWEST, ROUNDING, exceeds
from verdicts.statistics.setting_rules import meets, readable, spoken

__all__ = ["ALPHA", "FEWEST", "ROUNDING", "Multiverse", "exceeds", "meets", "readable", "spoken"]
