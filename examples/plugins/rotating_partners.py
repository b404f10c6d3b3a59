"""Partners that change from period to period, as in GossipGraD (Daily et al. 2018)."""

import ngo


@ngo.topology("rotating_partners", directed=True, weighted=True)
def rotating_partners(n, t):
    """In step t each worker sends half of its mass to the one r 2^(t mod k) places further.

    k = ⌈log₂ n⌉, and r is 1 in the first k steps, 3 in the next k, and so on through all odd
    numbers below n. For n = 2^k, each period of k steps gives the exact mean.
    """
    k = (n - 1).bit_length()
    r = 1 + 2 * (t // k) % (n - n % 2)
    distance = r * 2 ** (t % k) % n
    return [[((i == j) + ((i - j) % n == distance)) / 2 for j in range(n)] for i in range(n)]
