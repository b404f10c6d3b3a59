"""What a claims file holds: claims, gates, and the rows that they select."""

from verdicts.claims.claim import ADDED, ALTERNATIVE, MARKS, Claim, ClaimsFile, Gate, selections

__all__ = ["ADDED", "ALTERNATIVE", "MARKS", "Claim", "ClaimsFile", "Gate", "selections"]
