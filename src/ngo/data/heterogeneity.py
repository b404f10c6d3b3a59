"""Measures of how much the workers' label distributions differ.

All functions take ``counts`` ``[n, classes]``: ``counts[i, k]`` is the number of samples of class k
on worker i. The label distribution of worker i is row i divided by its sum. Workers without
samples have none and are left out.
"""

from __future__ import annotations

import numpy as np

from verdicts.registry import UserError


def hellinger_to_global(counts: np.ndarray) -> float:
    """The mean Hellinger distance of the workers' label distributions to that of all samples.

    The distance of p and q is √(½ Σ_k (√p_k − √q_k)²), from 0 (equal) to 1 (no class in common).
    """
    roots = np.sqrt(label_distributions(counts))
    together = np.sum(counts, axis=0)
    overlaps = roots @ np.sqrt(together / together.sum())
    # √(1 − Σ_k √(p_k q_k)) equals √(½ Σ_k (√p_k − √q_k)²)
    return float(np.sqrt(np.clip(1 - overlaps, 0, None)).mean())


def label_entropy(counts: np.ndarray) -> float:
    """The mean entropy of the workers' label distributions, −Σ_k p_k log p_k, in nats.

    It is 0 if each worker has one class, and at most the logarithm of the number of classes.
    """
    p = label_distributions(counts)
    return float((p * np.log(1 / np.where(p > 0, p, 1))).sum(1).mean())


def label_distributions(counts: np.ndarray) -> np.ndarray:
    """The share of each class in the samples of each worker that has any, ``[≤ n, classes]``.

    A UserError if no worker has samples.
    """
    counts = np.asarray(counts, np.float64)
    sizes = counts.sum(1)
    if not sizes.any():
        raise UserError("partition: no worker has samples.")
    return counts[sizes > 0] / sizes[sizes > 0, None]
