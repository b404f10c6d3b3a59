"""The quantities and values of decentralized learning, registered with the judge."""

from verdicts.claims.claims_file import read_claims
from verdicts.quantity import QUANTITIES
from verdicts.registry import load_entries

__all__ = ["QUANTITIES", "read_claims"]

load_entries(__name__)
