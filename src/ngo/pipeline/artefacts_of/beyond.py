"""The tables and figures beyond the paper (``config/beyond.yaml``)."""

from ngo.pipeline.artefacts import ARTEFACTS, Artefact

METHODS = "Any method with any coupling"

ARTEFACTS.add(
    "finite_time",
    Artefact(
        "Consensus in finite time, kept in discrete steps",
        METHODS,
        {name: f"rounds_{name}" for name in ("ring", "matchings", "exact")},
        figures=("finite_time",),
        tables=("finite_time",),
        overlay="beyond",
    ),
)
