"""Bounded confidence (Hegselmann and Krause 2002): opinions that are too far off do not count."""

import ngo

CONFIDENCE = {"confidence": ngo.number("largest difference that counts", 1.0, ngo.above(0))}


@ngo.coupling("bounded_confidence", options=CONFIDENCE)
def bounded_confidence(z, weights, gamma, run):
    """γ W_ij z where |z| ≤ ``confidence``, entry by entry, and 0 elsewhere."""
    return gamma * weights * z * (z.abs() <= run.confidence)
