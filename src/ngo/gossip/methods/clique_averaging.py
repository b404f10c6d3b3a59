"""Clique averaging (Bellet et al. 2022)."""

from __future__ import annotations

from ngo.common.fields import at_least, whole
from ngo.common.lazy import torch
from ngo.gossip.method import GOSSIP_FIELDS, method
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.gossip.step import Step

CLIQUE = {"clique": whole("consecutive workers that average their gradients", 10, at_least(1))}


@method(
    "clique_averaging",
    fields=GOSSIP_FIELDS,
    options=CLIQUE,
    sends=("d", "d"),
    matrices=2,
    local_steps=1,
    delay=0,
)
def clique_averaging(step: Step) -> None:
    """Clique averaging (Bellet et al. 2022): x ← pull(x − η ḡ), with a clique's mean gradient ḡ.

    ḡ_i = (1/|C|) Σ_(j∈C) g_j for the clique C of worker i. This is D-SGD with clique averaging of
    "D-Cliques" (arXiv 2104.07365). The cliques are ``clique`` consecutive workers each, the last
    one perhaps fewer: those of the topology ``d_cliques`` with this ``clique_size``. Edges between
    cliques, which would bias the gradients, are used for models only, so that they carry one of the
    two messages. A local rule like momentum acts on ḡ. Where workers of a clique have no edge, as
    after a failure, its other edges are used with the same weights.
    """
    W = step.network.W
    step.network.W = within_cliques(W, step.run.clique)
    step.network.mix(step.G)
    step.network.W = W
    step.descend()
    step.gossip()


def within_cliques(W: MixingMatrix, clique: int) -> MixingMatrix:
    """The edges of W within cliques, with weights 1/|C|; the rest of each row stays with itself."""
    of = torch.arange(W.n) // clique
    inside = of[W.receivers] == of[W.senders]
    receivers, senders = W.receivers[inside], W.senders[inside]
    shares = 1 / torch.bincount(of).double()
    weights = shares[of[receivers]]
    diagonal = 1 - torch.bincount(receivers, weights, W.n)
    return MixingMatrix(W.n, receivers, senders, weights, diagonal, in_order=True)
