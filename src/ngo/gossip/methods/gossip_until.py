"""Linear gossip after each gradient step until the workers agree well enough."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.gossip.method import method

if TYPE_CHECKING:
    from ngo.gossip.step import Step


@method(
    "gossip_until",
    fields=("topology", "gamma", "gamma_decay", "v_threshold"),
    sends=(),
    needs_every_message="gossips until all workers agree",
    coupling="power",
    p=1.0,
    local_steps=1,
    delay=0,
)
def gossip_until(step: Step) -> None:
    """A half step, then linear gossip until V = Σᵢ‖xᵢ − x̄‖² is ``v_threshold`` or less.

    This is Figure 1, with V_th = ``v_threshold``. Gossip also ends when a round does not lower V.
    Then V is as small as rounding allows, or the step's graph does not connect all workers. All
    rounds of a step use the same graph; a matching of more than two workers, for example, never
    brings V to the threshold. The first time, a warning says so.
    """
    step.descend()
    V, before = step.network.index(step.X), float("inf")
    while step.run.v_threshold < V < before:
        step.gossip()
        V, before = step.network.index(step.X), V
    threshold = step.run.v_threshold
    if threshold < V:
        step.warn(
            f"method: gossip ended at V = {V:.3g}, above v_threshold {threshold:g}, in step "
            f"{step.t}, since a round no longer lowered V: the step's graph does not connect all "
            f"workers, or V is as small as rounding allows"
        )
