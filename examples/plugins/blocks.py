"""A natural partition: samples in the order of the file, as if each worker had recorded a part."""

import numpy as np

import ngo


@ngo.partition("blocks", smallest_share=lambda m, n: m // n)
def blocks(labels, n, *, generator):
    """Worker i owns the i-th of n consecutive blocks, whose sizes differ by one at most."""
    return np.array_split(np.arange(len(labels)), n)
