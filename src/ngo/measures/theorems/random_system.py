"""Consensus on graphs drawn anew in each round (Section 3.3)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pandas as pd
import torch

from ngo.common.seeding import torch_stream
from ngo.gossip.topology import Mixing
from ngo.measures.theorems.residual import residual, unit_spread

if TYPE_CHECKING:
    from ngo.measures.theory import TheoryOptions


def random_system(options: TheoryOptions) -> pd.DataFrame:
    """What is left of V after ``random_rounds`` rounds on draws of G(n, u).

    ``form`` printed: weights of 0 or 1 and no γ, as in the paper's equations (aijp) and (random);
    amended: Metropolis weights and γ = ``sgd_gamma``. Both see the same draws, with the exponents
    ``sgd_p`` and 1.
    """
    s = options
    records = []
    for n in s.workers:
        for draw in range(s.draws):
            seed = s.seed + draw
            generator = torch_stream(seed, "theory random states", n)
            X0 = unit_spread(n, generator)
            graphs = torch_stream(seed, "theory random graphs", n)
            mixing = Mixing("random", n, SimpleNamespace(u=s.u), graphs)
            drawn = [mixing.at(t) for t in range(s.random_rounds)]
            unit = [(W - torch.diag(W.diagonal()) > 0).double() for W in drawn]
            for form, matrices, gamma in (("printed", unit, 1.0), ("amended", drawn, s.sgd_gamma)):
                for p in (s.sgd_p, 1.0):
                    left = residual(X0, matrices, p, gamma, s.random_rounds)
                    records.append(
                        {"form": form, "n": n, "p": p, "gamma": gamma, "seed": seed,
                         "residual": left}
                    )  # fmt: skip
    return pd.DataFrame(records)
