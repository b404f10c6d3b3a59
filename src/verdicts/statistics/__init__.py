"""Intervals over seeds, rules over universes, and how numbers are printed."""

from verdicts.statistics.multiverse import Multiverse, deciding
from verdicts.statistics.samples import ABSENT, ALPHA, FEWEST, ROUNDING, exceeds
from verdicts.statistics.setting_rules import alike, digits_of, meets, number, readable, spoken

__all__ = ["ABSENT", "ALPHA", "FEWEST", "ROUNDING", "Multiverse"]
__all__ += ["alike", "deciding", "digits_of", "exceeds", "meets", "number", "readable", "spoken"]
