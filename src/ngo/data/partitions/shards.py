"""Partition ``shards``: samples sorted by label, cut into shards (supplement C.1)."""

import numpy as np

from ngo.data.partition import Parts, check_range, partition, sorted_parts


def _owned(m: int, n: int, shards: int, shards_per_worker: int) -> int:
    # The first m % shards shards have one sample more than the others.
    taken = n * shards_per_worker
    return taken * (m // shards) + min(taken, m % shards)


@partition(
    "shards",
    by_label=True,
    smallest_share=lambda m, n, shards, shards_per_worker: (m // shards) * shards_per_worker,
    owned=_owned,
)
def shards(
    labels: np.ndarray,
    n: int,
    *,
    shards: int,
    shards_per_worker: int,
    generator: np.random.Generator,
) -> Parts:
    """Give each worker ``shards_per_worker`` random shards, without replacement.

    The other shards are unused. (In the paper's MNIST setting, 10 workers take 2 of 300 shards
    each, so 4,000 of 60,000 images.)
    """
    taken = n * shards_per_worker
    check_range("shards", shards, len(labels), "samples")
    check_range("workers × shards_per_worker", taken, shards, "shards")
    pool = np.array_split(np.argsort(np.asarray(labels), kind="stable"), shards)
    drawn = generator.permutation(shards)[:taken].reshape(n, shards_per_worker)
    return sorted_parts([np.concatenate([pool[s] for s in row]) for row in drawn])
