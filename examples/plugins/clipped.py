"""Gossip with a bounded pull: one worker that is far off moves its neighbours by little."""

import ngo

CLIP = {"clip": ngo.number("largest difference that counts in full", 1.0, ngo.above(0))}


@ngo.coupling("clipped", settings=CLIP)
def clipped(z, weights, gamma, run):
    """γ W_ij z, with each entry of z limited to ±``clip``."""
    return gamma * weights * z.clamp(-run.clip, run.clip)
