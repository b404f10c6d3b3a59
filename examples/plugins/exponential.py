"""The exponential graph: every worker talks to those 1, 2, 4, … places away on a circle."""

import ngo


@ngo.topology("exponential")
def exponential(n):
    """Edges i – i + 2^k for all 2^k < n: about 2 log₂ n neighbours each."""
    return [(i, (i + 2**k) % n) for k in range((n - 1).bit_length()) for i in range(n)]
