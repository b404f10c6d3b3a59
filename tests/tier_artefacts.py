"""The tables and figures of every tier: all but those of configs with questions of their own."""

from ngo.pipeline.artefacts import ARTEFACTS

BEYOND = ("methods", "disturbed", "price", "skew", "merge", "finite_time")

#: The overlay of ``config/config.yaml`` that has the experiments of the others.
OTHERS = {"calibration": "calibration", **dict.fromkeys(BEYOND, "beyond")}
OF_A_TIER = {name: entry for name, entry in ARTEFACTS.items() if name not in OTHERS}
