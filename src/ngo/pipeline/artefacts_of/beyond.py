"""The tables and figures beyond the paper (``config/beyond.yaml``)."""

from ngo.pipeline.artefacts import ARTEFACTS, Artefact

METHODS = "Any method with any coupling"

ARTEFACTS.add(
    "methods",
    Artefact(
        "Methods with linear and with nonlinear gossip, each at its own best values",
        METHODS,
        {"metrics": "methods"},
        figures=("methods",),
        tables=("methods",),
        overlay="beyond",
    ),
)
ARTEFACTS.add(
    "price",
    Artefact(
        "The price of a point of accuracy, in bytes and in modelled seconds",
        METHODS,
        {"metrics": "price"},
        figures=("price",),
        tables=("price",),
        overlay="beyond",
        priced=True,
    ),
)
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
