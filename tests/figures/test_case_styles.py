import pandas as pd

from ngo.figures.case_styles import case_styles


def test_every_case_has_a_look_of_its_own():
    """A colour for the method, a marker for the graph, and centralized learning as elsewhere."""
    methods = ("linear", "NGO", "local SGD", *"abcd")
    cases = [(f"{each}, {graph}", graph) for each in methods for graph in ("ring", "complete")]
    looks = case_styles(pd.DataFrame([*cases, ("centralized", None)], columns=["case", "topology"]))
    assert len({(look.colour, look.line, look.marker) for look in looks.values()}) == len(cases) + 1
    assert looks["linear, ring"].colour == looks["linear, complete"].colour
    assert looks["NGO, ring"].marker == looks["linear, ring"].marker
    assert looks["centralized"].colour == "#000000"
