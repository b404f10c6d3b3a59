"""Compressed gossip with error feedback (CHOCO-SGD; Koloskova et al. 2019)."""

from __future__ import annotations

from ngo.gossip.method import GOSSIP_FIELDS, method
from ngo.gossip.step import Step


@method(
    "choco",
    fields=(*GOSSIP_FIELDS, "compression"),
    graph="fixed",
    sends=("C(d)",),
    matrices=4,
    needs_every_message="adds up what neighbours have sent",
    local_steps=1,
    delay=0,
)
def choco(step: Step) -> None:
    """CHOCO-SGD (Koloskova et al. 2019): gossip with compressed messages and error feedback.

    Algorithm 2: x ← x − η g;  x̂_j += C(x_j − x̂_j);  x_i += γ Σ_j W_ij φ(x̂_j − x̂_i).

    C(x_j − x̂_j) is sent, so worker j and its neighbours know x̂_j, which is 0 at first. The error
    of the compression stays in x_j − x̂_j, and is sent later: the error feedback.
    """
    step.descend()
    x_hat, theirs = step.matrix("x_hat"), step.copies("x_hat")
    step.send_compressed(step.X, x_hat, theirs)
    step.gossip(at=x_hat, theirs=theirs)
