"""The playground: its numbers are the package's, and its links are checked."""

import json
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
import torch
from cases import cases
from conftest import REPOSITORY
from py_mini_racer import MiniRacer

from ngo.common.registries import COUPLINGS, TOPOLOGIES
from ngo.gossip.bounds import chatter_V, delay_limit, finite_time_bound
from ngo.gossip.consensus_dynamics import synchronization_index
from ngo.gossip.mixing_matrix import laplacian_range, mixing_of
from ngo.report.findings import read_findings
from ngo.report.pages import FOLDER, play_page

# Parts of links that say what the default is.
DEFAULTS = ("graph=ring", "n=10", "gamma=0.1", "p=0.6", "rounds=300")

ROUNDS = 25

# All that a run of the page's script has drawn and computed.
RECORD = """
function record(given, rounds) {
  const setting = {...defaults(), ...given}, net = network(setting), law = lawOf(setting);
  const run = trajectory(setting, net), draws = drawn(setting, net);
  const states = each(rounds + 1).map(() => [...run.next().value]);
  return {
    law, states, edges: net.edges, V: states.map(indexOf), matchings: matchings(net),
    start: [...draws.start], gradients: [...draws.gradients],
    noise: each(rounds).map(() => [...draws.noise()]),
    links: each(rounds).map(() => [...draws.links()]),
  };
}
function predicted(given, V0) {
  const setting = {...defaults(), ...given};
  return predictions(setting, network(setting), V0);
}
"""


@pytest.fixture(scope="module")
def script():
    engine = MiniRacer()
    for name in ("mathematics", "setting"):
        engine.eval((FOLDER / "play" / f"{name}.js").read_text(encoding="utf-8"))
    engine.eval(RECORD)

    def call(name, *values):
        given = ", ".join(json.dumps(value) for value in values)
        return json.loads(engine.eval(f"JSON.stringify({name}({given}))"))

    return call


def random_setting(k):
    """Setting k of 24: all couplings, and delays, failures, drift and noise in half of them each.

    The last eight have failing links and strong drift; values go up to the ends of their ranges.

    γ is small and rounds are few, so that no two workers come as close as rounding errors: at a
    tie, the sign of a difference would be that of its rounding.
    """
    draw = np.random.default_rng(k)
    coupling = ("power", "linear", "capped", "implicit")[k % 4]
    strong = k >= 16
    names = ("ring", "chain", "complete", "star", "torus", "exponential", "random")
    return {
        "graph": str(draw.choice(names)),
        "n": int(draw.choice([2, 4, 6, 9, 10, 12, 16])),
        "u": 0.5,
        "coupling": coupling,
        "p": 0.5 if k % 10 == 9 else float(draw.uniform(0.5, 1 if coupling == "implicit" else 1.5)),
        "gamma": float(draw.uniform(0.005, 0.1)),
        "delay": int(draw.integers(0, 6)) * int(draw.integers(2)),
        "loss": float(draw.uniform(0.4 * strong, 0.95)) * max(strong, int(draw.integers(2))),
        "lr": float(draw.uniform(0, 1)),
        "drift": float(draw.uniform(strong, 2)) * max(strong, int(draw.integers(2))),
        "noise": float(draw.uniform(0, 2)) * int(draw.integers(2)),
        "seed": k,
    }


def matrices(setting, run):
    """The mixing matrix of each round, by the package, from what the script has drawn."""
    n, edges = setting["n"], np.array(run["edges"], np.int64).reshape(-1, 2)
    classes = np.array(run["matchings"])
    for t, links in enumerate(run["links"]):
        taken = np.ones(len(edges), bool)
        if setting["coupling"] == "implicit":
            taken = classes == t % (classes.max() + 1)
        W = mixing_of(n, edges[taken])
        failed = {tuple(edge) for edge in edges[np.array(links) < setting["loss"]].tolist()}
        ends = zip(W.receivers.tolist(), W.senders.tolist(), strict=True)
        lost = [tuple(sorted(edge)) in failed for edge in ends]
        yield W.without(torch.tensor(lost, dtype=torch.bool))


def half_step(setting, run, X, t):
    """The states of round t after the workers' steps along their gradients."""
    gradients, noise = (
        torch.tensor(drawn, dtype=torch.float64)[:, None]
        for drawn in (run["gradients"], run["noise"][t])
    )
    return X - setting["lr"] * (setting["drift"] * gradients + setting["noise"] * noise)


def by_the_package(setting, run):
    """The states after each round: half steps by hand, and rounds by the package's coupling."""
    law = run["law"]
    X, sent = torch.tensor(run["start"], dtype=torch.float64)[:, None], []
    states = [X]
    for t, W in enumerate(matrices(setting, run)):
        sent.append(half_step(setting, run, X, t))
        options = SimpleNamespace(p=law["p"], cap=1.0)
        at = sent[max(0, t - setting["delay"])]
        X = COUPLINGS[law["coupling"]].step(sent[-1], W, law["gamma"], options, at=at)
        states.append(X)
    return torch.stack(states)


@pytest.mark.parametrize("k", range(24))
def test_rounds_are_those_of_the_package(script, k):
    setting = random_setting(k)
    run = script("record", setting, ROUNDS)
    states = by_the_package(setting, run)
    for name, expected in (("states", states[:, :, 0]), ("V", synchronization_index(states))):
        drawn = torch.tensor(run[name], dtype=torch.float64)
        torch.testing.assert_close(drawn, expected, rtol=1e-12, atol=1e-12)


GRAPHS = ("ring", "chain", "complete", "star", "torus", "exponential")


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_are_those_of_the_package_and_matchings_share_no_worker(script, name):
    for n in (4, 9, 12, 100):
        edges = script("network", {"graph": name, "n": n})["edges"]
        assert edges == [list(edge) for edge in TOPOLOGIES[name].edges(n)]
    run = script("record", {"graph": name, "n": 9}, 1)
    for number in set(run["matchings"]):
        pairs = zip(run["edges"], run["matchings"], strict=True)
        matching = {tuple(edge) for edge, k in pairs if k == number}
        assert nx.is_matching(nx.Graph(list(matching)), matching)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("p", [0.5, 0.9])
def test_predictions_are_the_bounds_of_the_package(script, name, p):
    gamma, n, V0 = 0.1, 10, 8.0
    W = TOPOLOGIES[name].matrix(n)
    run = script("predicted", {"graph": name, "n": n, "p": p, "gamma": gamma}, V0)
    second, largest = laplacian_range(W)
    assert run["second"] == pytest.approx(second)
    assert run["bestGamma"] == pytest.approx(2 / (second + largest))
    assert run["delay"] * gamma == pytest.approx(delay_limit(W, gamma))
    assert run["sharp"] == pytest.approx(finite_time_bound(V0, W, p, gamma, "sharp"))
    assert run["printed"] == pytest.approx(finite_time_bound(V0, W, p, gamma, "paper"))
    assert run["floor"] == pytest.approx(chatter_V(gamma, W, p), rel=1e-6)


def test_a_link_holds_the_whole_setting(script):
    setting = script("defaults") | {"graph": "own", "n": 5, "edges": [[0, 1], [0, 4], [2, 3]]}
    setting |= {"gamma": 0.0123, "p": 0.755}
    setting |= {"coupling": "capped", "delay": 3, "loss": 0.2, "seed": 7, "round": 12}
    setting |= {"places": [[k / 4095, 1 - k / 4095] for k in range(5)]}
    read = script("fromLink", "#" + script("toLink", setting))
    assert read["refused"] == []
    assert read["setting"].pop("places") == [pytest.approx(at) for at in setting.pop("places")]
    assert read["setting"] == setting
    assert script("toLink", script("defaults")) == ""


@cases(
    "link, refused",
    ("graph=__proto__", ["graph"]),
    ("graph=constructor&coupling=toString", ["graph", "coupling"]),
    ("p=NaN", ["p"]),
    ("p=0x10", ["p"]),
    ("n=<img src=x onerror=alert(1)>", ["n"]),
    ("gamma=1;alert(1)", ["gamma"]),
    ("edges=AAA", ["edges"]),
    ("n=3&edges=%00", ["edges"]),
    ("places=" + "A" * 3000, ["places"]),
    ("x" * 5000, ["link"]),
    ("__proto__=1&what=2", ["unknown name"]),
    ("=&&&=1", ["unknown name"]),
)
def test_what_a_hostile_link_gives_is_left_out(script, link, refused):
    read = script("fromLink", link)
    assert read["refused"] == refused
    expected = script("defaults") | ({"n": 3} if link.startswith("n=3") else {})
    assert read["setting"] == expected


def test_numbers_of_a_link_are_within_their_ranges(script):
    link = "n=999999999&gamma=-5&rounds=1e9&p=1e-99&delay=2.7&round=99999"
    setting = script("fromLink", link)["setting"]
    assert (setting["n"], setting["gamma"], setting["rounds"]) == (100, 0.001, 2000)
    assert (setting["p"], setting["delay"], setting["round"]) == (0.5, 3, 2000)


def test_the_page_is_one_file_and_the_committed_one_is_current():
    page = play_page()
    assert "://" not in page
    assert all(mark not in page for mark in ("src=", "@import", "url(", "eval(", "innerHTML"))
    assert (REPOSITORY / "docs/play.html").read_text(encoding="utf-8") == page


def test_claims_are_played_at_allowed_settings_that_differ_from_the_default(script):
    played = read_findings(REPOSITORY / "config/reference/findings.yaml")["play"]
    page = (REPOSITORY / "docs/results/claims.md").read_text(encoding="utf-8")
    for link in set(played.values()):
        read = script("fromLink", link)
        assert read["refused"] == []
        kept = sorted(value for value in link.split("&") if value not in DEFAULTS)
        assert sorted(script("toLink", read["setting"]).split("&")) == kept
        assert f"[try it](../play.html#{link})" in page
