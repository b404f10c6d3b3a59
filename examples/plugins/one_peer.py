"""The one-peer exponential graph: in step t each worker receives from one peer only."""

import ngo


@ngo.topology("one_peer", directed=True, weighted=True)
def one_peer(n, t):
    """W_ij = 1/2 for j = i and j = i − 2^(t mod log₂ n): exact averages every log₂ n steps."""
    distance = 2 ** (t % max(1, (n - 1).bit_length()))
    return [[(i == j) / 2 + ((i - j) % n == distance % n) / 2 for j in range(n)] for i in range(n)]
