"""What a claims file holds: claims, gates, and the rows that they select."""

from verdicts.claims.claim import ADDED, ALTERNATIVE, MARKS, Claim, ClaimsFile, Gate, selections
from verdicts.claims.conditions import named_columns, selected_rows

__all__ = ["ADDED", "ALTERNATIVE", "MARKS", "Claim", "ClaimsFile", "Gate"]
__all__ += ["named_columns", "selected_rows", "selections"]
