"""Epidemic learning (de Vos et al. 2023)."""

from __future__ import annotations

from ngo.gossip.method import method
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.gossip.step import Step


@method("epidemic", fields=("topology",), directed=True, local_steps=1, delay=0)
def epidemic(step: Step) -> None:
    """Epidemic learning (EL; de Vos et al. 2023): the mean of the own model and all that arrive.

    x_i^(t+1) = (x_i + Σ_j x_j)^(t+1/2)/(1 + r_i), over the r_i workers j that sent to worker i.

    On the topology ``epidemic_out``, where each worker sends to s others, drawn in each step, it is
    EL-Local. On ``epidemic_regular``, a random regular graph in each step, it is EL-Oracle. The
    weights of a row sum to 1, but those of a column do not where r_i differ: a step of EL-Local
    conserves the workers' mean on average only.
    """
    step.descend()
    step.network.W = equal_shares(step.network.W)
    step.network.mix(step.X)


def equal_shares(W: MixingMatrix) -> MixingMatrix:
    """The edges of W with row-stochastic weights: each worker weighs all that it receives alike."""
    shares = 1 / (1 + W.starts.diff()).double()
    edges = W.receivers, W.senders
    return MixingMatrix(W.n, *edges, shares[W.receivers], shares, in_order=True)
