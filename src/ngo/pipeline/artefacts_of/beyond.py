"""The tables and figures beyond the paper (``config/beyond.yaml``)."""

from ngo.pipeline.artefacts import ARTEFACTS, Artefact

METHODS = "Any method with any coupling"


def _add(
    name: str, title: str, metrics: dict[str, str] | None = None, *, priced: bool = False
) -> None:
    """Add a figure and a table; ``metrics`` by default are those of the experiment ``name``."""
    found = {"metrics": name} if metrics is None else metrics
    entry = Artefact(
        title,
        METHODS,
        found,
        figures=(name,),
        tables=(name,),
        priced=priced,
    )
    ARTEFACTS.add(name, entry)


_add(
    "methods",
    "Methods with linear and with nonlinear gossip, each at its own best values",
    {"mnist": "methods", "cifar10": "methods_cifar10"},
)
_add("disturbed", "Training with late messages, failing links, absent workers and compression")
_add("price", "The price of a point of accuracy, in bytes and in modelled seconds", priced=True)
_add(
    "skew",
    "Accuracy against the heterogeneity of the workers' data",
    {"metrics": "skew", "classes": "classes_skew"},
)
_add(
    "merge",
    "Merge once: what averaging all workers would gain, against V",
    {"metrics": "price"},
)
_add(
    "finite_time",
    "Consensus in finite time, kept in discrete steps",
    {name: f"rounds_{name}" for name in ("ring", "matchings", "exact")},
)
