"""The nonlinear function φ_p."""

from __future__ import annotations

from ngo.common.lazy import torch


def phi(z: torch.Tensor, p: float) -> torch.Tensor:
    """φ_p(z) = sign(z)|z|^(2p−1), elementwise, for p > 0 (Theorem 3.1, which asks for p ≥ 1/2).

    p = 1 is linear, p = 1/2 the sign, p in [1/2, 1) sublinear (NGO), p > 1 superlinear. Below 1/2
    it is singular: a smaller difference has a stronger pull, and φ_p(0) = 0 by definition. NaN
    stays NaN. For p up to 2 the relative error in float32 is 1e-5, in the compiled step 3e-7.
    """
    z = z.clone()
    sign = z.sign()
    return power_(z, exponent(p)).mul_(sign)


def exponent(p: float) -> float:
    """2p − 1; a ValueError unless p > 0."""
    if not p > 0:
        raise ValueError(f"p is {p!r}; the coupling is defined for p above 0")
    return 2 * p - 1


def power_(z: torch.Tensor, e: float) -> torch.Tensor:
    """|z|^e in place, by 2^(e log₂|z|), which is faster than ``pow``; 0 stays 0 also for e < 0."""
    if e == 0:
        return z.abs_().clamp_(max=1).ceil_()  # sign_ would turn NaN into 0
    if e == 1:
        return z.abs_()
    z.abs_()
    zeros = z == 0 if e < 0 else None
    z.log2_().mul_(e).exp2_()
    return z if zeros is None else z.masked_fill_(zeros, 0)
