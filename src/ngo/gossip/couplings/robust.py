"""Couplings that survive a few liars: the median and the trimmed mean of the neighbours."""

from __future__ import annotations

from ngo.common.fields import at_least, whole
from ngo.common.lazy import torch
from ngo.gossip.coupling import coupling
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.gossip.step import Run
from ngo.gossip.steps.trimmed import trimmed_step
from ngo.native.pool import Map


@coupling("median", whole=True)
def median(
    X: torch.Tensor,
    W: MixingMatrix,
    gamma: float,
    run: Run,
    *,
    at: torch.Tensor,
    out: torch.Tensor,
    spread: Map,
) -> torch.Tensor:
    """The median of a worker and its neighbours in each entry (Yin et al. 2018).

    x_i ← x_i + γ (m_i − x_i), where m_i of an even number of values is the mean of the two in the
    middle. At γ = 1 this is BRIDGE-M (Fang, Yang and Bajwa 2022). Edges count alike, and the mean
    is not conserved.
    """
    return trimmed_step(X, W, gamma, W.n, at=at, out=out, spread=spread)


TRIM = {"trim": whole("values left out at each end of a trimmed mean, b", 1, at_least(0))}


@coupling("trimmed_mean", options=TRIM, whole=True)
def trimmed_mean(
    X: torch.Tensor,
    W: MixingMatrix,
    gamma: float,
    run: Run,
    *,
    at: torch.Tensor,
    out: torch.Tensor,
    spread: Map,
) -> torch.Tensor:
    """The trimmed mean of a worker and its neighbours in each entry (Yin et al. 2018).

    x_i ← x_i + γ (m_i − x_i), where m_i leaves out the b = ``trim`` largest and the b smallest
    values, or as many as leave one or two. Edges count alike, as in the experiments of He,
    Karimireddy and Jaggi (2022). The mean is not conserved. BRIDGE-T (Fang, Yang and Bajwa 2022)
    trims the neighbours' values alone, and always keeps the worker's own.
    """
    return trimmed_step(X, W, gamma, run.trim, at=at, out=out, spread=spread)
