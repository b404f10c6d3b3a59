"""Styles of methods on topologies."""

from made_up import metrics, run

from ngo.figures.style import METHOD_STYLES
from ngo.figures.topology_cases import by_topology


def test_the_colour_is_the_methods_and_the_line_the_topologys():
    given = [("gossip", "star"), ("gossip", "complete"), ("ngo", "complete"), ("gossip", "ring")]
    runs = [run(0.5, method=q, topology=t) for q, t in given]
    cases = by_topology(metrics(*runs, run(0.5, method="centralized")))
    looks = {look.label: look for look, _ in cases}
    assert list(looks) == [
        "centralized", "gossip, ring", "gossip, complete", "gossip, star", "NGO, complete",
    ]  # fmt: skip
    assert looks["centralized"] == METHOD_STYLES["centralized"]
    assert looks["NGO, complete"].colour == METHOD_STYLES["ngo"].colour
    assert looks["NGO, complete"].line == looks["gossip, complete"].line
    assert len({looks[f"gossip, {t}"].marker for t in ("ring", "complete", "star")}) == 3
    assert [set(rows["method"]) for _, rows in cases[1:4]] == [{"gossip"}] * 3
