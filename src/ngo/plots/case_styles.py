"""The styles of cases, which are methods on graphs (``combinations.case_names``)."""

from __future__ import annotations

import pandas as pd

from ngo.plots.style import COLOURS, METHOD_STYLES, Style, kth_style


def case_styles(found: pd.DataFrame) -> dict[str, Style]:
    """The style of each case: a colour for the algorithm, a line and a marker for the topology."""
    runs = found.drop_duplicates("case").fillna({"topology": ""}).sort_values("case")
    graphs = sorted(runs["topology"].unique(), key=lambda name: (name != "ring", name))
    runs["algorithm"] = [
        case.removesuffix(graph.replace("_", " ")).rstrip(", ")
        for case, graph in zip(runs["case"], runs["topology"], strict=True)
    ]
    others = sorted(set(runs["algorithm"]) - {"centralized", "linear", "NGO"})
    algorithms = ["linear", "NGO", *others]
    looks = {}
    for run in runs.itertuples():
        if run.algorithm == "centralized":
            looks[run.case] = METHOD_STYLES["centralized"]
            continue
        again, place = divmod(algorithms.index(run.algorithm), len(COLOURS))
        algorithm = kth_style(place, run.algorithm)
        looks[run.case] = algorithm.variant(graphs.index(run.topology) + again, run.case)
    return looks
