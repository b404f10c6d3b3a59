"""The quantities of claims about runs, against values by hand."""

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
from cases import refused
from made_up import by_gamma, rounds, trajectories
from measured_runs import ended, evaluations, table

from ngo.analysis.quantities import measured
from ngo.analysis.quantities.budgets import difference_at_bytes, difference_at_seconds
from ngo.common.registries import TOPOLOGIES
from ngo.gossip.mixing_matrix import spectral_gap
from verdicts.quantities import QUANTITIES
from verdicts.registry import UserError
from verdicts.run_values import per_run

EVERY = {"method": "ngo"}
RARE = {"method": "local_sgd"}
N = 8
COSINES = {0: 1.0, 1: 0.9, 10: 0.7}
ACCURACIES = {0: 90.0, 1: 80.0, 10: 20.0}
COUNTS = pd.DataFrame(
    [("mnist", w, c, m) for w, samples in enumerate(([3, 1, 0], [0, 0, 4], [2, 2, 1]))
     for c, m in enumerate(samples)],
    columns=["dataset", "worker", "label", "samples"],
)  # fmt: skip
NAN = math.nan


def points(*curve, **a_step):
    """Evaluations of a curve of steps, accuracies and those held out; what each step adds."""
    rows = ({"step": s, "accuracy": a, "held_out": (*h, a)[0]} for s, a, *h in curve)
    return [{**row, **{name: row["step"] * each for name, each in a_step.items()}} for row in rows]


def runs(*, lost=False):
    """NGO sends 1,000 bytes a step, local SGD 200; both run for 100 steps."""
    ngo = points((0, 0.1), (10, 0.3), (100, 0.9), bytes=1000)
    local = evaluations(points((0, 0.1), (100, 0.6), bytes=200), method="local_sgd")
    return evaluations(ngo, method="ngo", diverged=lost), local


def test_accuracy_is_compared_at_the_bytes_of_the_more_frugal_run():
    # 20,000 bytes: step 20 of NGO, at 30 + 60/9 %, and the end of local SGD, at 60 %.
    found = difference_at_bytes(table(*runs()), EVERY, RARE)
    assert found.numbers[0] == pytest.approx(30 + 60 / 9 - 60)
    # 10,000 bytes: step 10 of NGO, at 30 %, and step 50 of local SGD, at 35 %.
    found = difference_at_bytes(table(*runs()), EVERY, RARE, share=0.5)
    assert found.numbers[0] == pytest.approx(-5)
    refused("share: 2 is not allowed", difference_at_bytes, table(*runs()), EVERY, RARE, share=2)
    assert difference_at_bytes(table(*runs(lost=True)), EVERY, RARE).numbers[0] == -math.inf
    assert difference_at_bytes(table(*runs(lost=True)), RARE, EVERY).numbers[0] == math.inf


def test_gamma_is_chosen_by_held_out_accuracy_at_the_budget():
    """At 10,000 bytes, step 10 of NGO, γ = 0.1 is best; at its end, γ = 1.

    What the diverged run with γ = 2 has sent sets no budget.
    """
    curves = {0.1: ((0, 0.1), (10, 0.5, 0.52), (100, 0.6, 0.62)), 2.0: ((0, 0.1), (5, 0.1))}
    curves[1.0] = ((0, 0.1), (10, 0.2, 0.22), (100, 0.9, 0.92))
    runs = [evaluations(points((0, 0.1), (100, 0.6), bytes=100), method="local_sgd", gamma=0.3)]
    for gamma, curve in curves.items():
        own = points(*curve, bytes=1000)
        runs.append(evaluations(own, method="ngo", gamma=gamma, diverged=gamma == 2))
    found = difference_at_bytes(table(*runs), EVERY, RARE, choose=["gamma"])
    assert found.numbers.tolist() == pytest.approx([50 - 60])


def test_accuracy_is_compared_after_equally_many_seconds():
    """A step takes 3 + 1 + 0.5 s on the ring, 3 + 1.5 + 0.5 s on the complete graph."""
    network = {"latency": 0.5, "bandwidth": 2000, "step": 3}
    runs = []
    for graph, edges, end in (("ring", 8, 0.4), ("complete", 12, 0.5)):
        curve = points((0, 0.1), (20, end), messages=edges, bytes=1000 * edges)
        runs.append(evaluations(curve, method="gossip", topology=graph, workers=4))
    rows = table(*runs)
    sides = {"topology": "ring"}, {"topology": "complete"}
    # 90 s: the end of the ring's run, at 40 %, and step 18 of the other, at 46 %.
    assert difference_at_seconds(rows, *sides, network).numbers[0] == pytest.approx(40 - 46)
    # 9 s: step 2 of the ring, at 13 %, and step 1.8 of the other, at 13.6 %.
    found = difference_at_seconds(rows, *sides, network, share=0.1)
    assert found.numbers[0] == pytest.approx(13 - 13.6)


def waiting_or_not(seconds):
    """With γ = 1 the mean model is best, with γ = 2 the workers. Waiting takes ``seconds``."""
    runs = []
    for clock, each in (("asynchronous", 1.0), ("waiting", seconds)):
        for gamma, mean, workers in ((1.0, 0.8, 0.5), (2.0, 0.7, 0.6)):
            start, end = points((0, 0.1), (10, mean), seconds=each)
            curve = [{**start, "workers": 0.1}, {**end, "workers": workers}]
            runs.append(evaluations(curve, method="ngo", clock=clock, gamma=gamma))
    return table(*runs)


def test_virtual_seconds_are_those_of_the_runs_or_of_a_network():
    sides = {"clock": "asynchronous"}, {"clock": "waiting"}
    rows = waiting_or_not(5.0)  # 10 s: the end of the one, step 2 of the other
    found = difference_at_seconds(rows, *sides, choose=["gamma"])
    assert found.numbers[0] == pytest.approx(80 - (10 + 70 / 5))
    own = {"value": "workers_accuracy", "by": "workers_accuracy_mean"}
    found = difference_at_seconds(rows, *sides, choose=["gamma"], **own)
    assert found.numbers[0] == pytest.approx(60 - (10 + 50 / 5))
    with pytest.raises(UserError, match="value: 'loss' is unknown; allowed: accuracy, workers_acc"):
        difference_at_seconds(rows, *sides, value="loss")
    with pytest.raises(UserError, match=r"^network: give one; these runs have no virtual seconds"):
        difference_at_seconds(table(*runs()), EVERY, RARE)


def test_the_largest_quotient_of_two_terms():
    rows = pd.DataFrame({"seed": [0, 0, 1], "third": [1.0, 2.0, 0.1], "second": [10.0, 4.0, 1.0]})
    found = measured.log_quotient(rows, "third", "second")
    assert found.to_dict() == pytest.approx({0: math.log(0.5), 1: math.log(0.1)})
    with pytest.raises(UserError, match="with: there is no column 'thrd'. Did you mean 'third'?"):
        measured.log_quotient(rows, "thrd", "second")


def run(topology, **values):
    return ended(topology=topology, workers=N, **values)


def test_a_graph_has_its_gap():
    rows = table(*(run(name, seed=seed) for name in ("ring", "complete") for seed in (0, 1)))
    gaps = per_run(rows, "spectral_gap").set_index("topology")["value"]
    assert gaps["complete"].tolist() == pytest.approx([1, 1])
    assert gaps["ring"].tolist() == [spectral_gap(TOPOLOGIES["ring"].matrix(N))] * 2


def alignment(*, diverged=()):
    """V is 100 times the squared scale; two workers around the mean cosine, and their mean."""
    return pd.DataFrame(
        {"seed": seed, "scale": float(scale), "worker": worker, "V": 100.0 * scale**2,
         "cosine": cosine + 0.1 * (worker - 0.5), "accuracy": ACCURACIES[scale] - seed,
         "diverged": seed in diverged}
        for seed in (0, 1) for scale, cosine in COSINES.items() for worker in (-1, 0, 1)
    )  # fmt: skip


def test_alignment_by_scale():
    # From V = 100 to 10,000, two factors of ten, the cosine falls by 0.2.
    assert measured.alignment_slope(alignment()).to_dict() == pytest.approx({0: -0.1, 1: -0.1})
    found = measured.change_with_scale(alignment(), "accuracy", of=1, minus=0)
    assert found.to_dict() == {0: -10, 1: -10}
    with pytest.raises(UserError, match="scale: 3 was not measured; allowed: 0, 1, 10"):
        measured.change_with_scale(alignment(), "accuracy", of=3, minus=0)
    with pytest.raises(UserError, match="column: 'loss' was not measured"):
        measured.change_with_scale(alignment(), "loss", of=1, minus=0)


def images(spread, *, diverged=False):
    """Two images of two pixels of three workers at two steps; ``spread`` at each step."""
    names = ["step", "worker", "image", "column"]
    cases = product(spread, (-1, 0, 1, 2), (0, 1), (0, 1))
    rows = pd.DataFrame(cases, columns=names).assign(seed=0, kind="generation", channel=0, row=0)
    apart = rows["step"].map(spread) * (rows["worker"] - 1).mask(rows["worker"] < 0, 0)
    return rows.assign(value=100 + rows["image"] + apart, diverged=diverged & (rows["step"] == 200))


def test_the_variance_between_workers_images():
    found = measured.log_image_variance_ratio(images({2: 10, 200: 5}), of=200, to=2)
    assert found[0] == pytest.approx(np.log(0.25))
    assert measured.log_image_variance_ratio(images({2: 10, 200: 0}), of=200, to=2)[0] == -math.inf
    lost = images({2: 10, 200: 0}, diverged=True)
    assert measured.log_image_variance_ratio(lost, of=200, to=2)[0] == math.inf
    with pytest.raises(UserError, match="step: 7 has no images; allowed: 2, 200"):
        measured.log_image_variance_ratio(images({2: 10, 200: 5}), of=7, to=2)


def test_samples_and_classes_of_workers_and_batches_of_a_step():
    samples = measured.samples_of_workers(COUNTS, 4)
    classes = measured.classes_of_workers(COUNTS, 2)
    assert samples["measured"].tolist() == [4, 4, 5]
    assert classes["measured"].tolist() == [2, 1, 3]
    assert samples["met"].tolist() == classes["met"].tolist() == [True, True, False]
    assert samples["case"].iloc[0] == "dataset mnist, worker 0"
    assert [measured.samples_used(COUNTS, m)["met"].tolist() for m in (13, 60)] == [[True], [False]]
    runs = pd.DataFrame({"run": ["a", "a", "b"], "step": [5, 10, 10], "workers": [4, 4, 8]})
    runs = runs.assign(batch_size=32, samples=32 * runs["step"] * [4, 4, 7], diverged=False)
    found = measured.batches_of_steps(runs)
    assert found["case"].tolist() == ["workers 4", "workers 8"]
    assert found["measured"].tolist() == [4, 7]
    assert found["met"].tolist() == [True, False]


def spectra(*rows):
    return pd.DataFrame(rows, columns=["topology", "n", "u", "draws", "degree", "spectral_gap"])


FOUR = spectra(
    ("ring", 4, NAN, 1, 2.0, 2 / 3), ("random", 4, 0.4, 200, 1.2, 0.13),
    ("complete", 4, NAN, 1, 3.0, 1.0),
)  # fmt: skip
SIXTEEN = spectra(
    ("ring", 16, NAN, 1, 2.0, 0.0507), ("random", 16, 0.4, 200, 6.0, 0.27),
    ("complete", 16, NAN, 1, 15.0, 0.4),
)  # fmt: skip


def test_gaps_are_compared_as_they_are_printed_and_the_smallest_is_found():
    found = measured.printed_gaps(pd.concat([FOUR, SIXTEEN])).set_index("case")["met"]
    assert found.to_dict() == {
        "topology ring, n 4": True, "topology ring, n 16": True,
        "topology complete, n 4": True, "topology complete, n 16": False,
    }  # fmt: skip
    with pytest.raises(UserError, match="no row is left for this statement"):
        measured.printed_gaps(FOUR[FOUR["topology"] == "random"])
    found = measured.smallest_gap(pd.concat([FOUR, SIXTEEN]))
    assert found["case"].tolist() == ["topology ring, n 4", "topology ring, n 16"]
    assert found["met"].tolist() == [False, True]
    assert found["limit"].tolist() == [0.13, 0.27]
    refused("topology: 'web' is unknown", measured.smallest_gap, FOUR, "web")


def test_degrees_of_random_graphs():
    # u(n − 1) is 1.2 and 6; un is 1.6 and 6.4; four standard errors are 0.17 and 0.19.
    both = pd.concat([FOUR, SIXTEEN])
    assert measured.random_degrees(both, "u(n-1)")["met"].tolist() == [True, True]
    assert measured.random_degrees(both, "un")["met"].tolist() == [False, False]
    assert measured.random_degrees(both.assign(draws=5), "un")["met"].all()
    refused("form: 'nu' is unknown; allowed: u\\(n-1\\), un", measured.random_degrees, both, "nu")


def test_messages_of_a_worker_are_those_of_the_first_round_alone():
    rows = pd.DataFrame({"topology": "d_cliques", "workers": [10, 10, 20], "seed": [0, 1, 0]})
    rows = rows.assign(messages=[94, 94, 191])
    rows = pd.concat([rows.assign(round=k, messages=k * rows["messages"]) for k in (1, 2)])
    found = measured.messages_of_a_worker(rows, 9.4)
    cases = ["topology d_cliques, workers 10", "topology d_cliques, workers 20"]
    assert found["case"].tolist() == cases
    assert found["measured"].tolist() == [9.4, 9.55]
    assert found["met"].tolist() == [True, False]


def test_a_delay_raises_the_floor_of_a_sublinear_coupling():
    table = trajectories((0.75,), (0, 50), rounds=1000)
    found = QUANTITIES["consensus_delay_floor"].function(table, share=1e-6)
    assert found["case"].tolist() == ["p 0.75, delay 50"]
    assert not found["met"].any()
    unharmed = pd.concat([table[table["delay"] == 0].assign(delay=d) for d in (0, 50)])
    assert QUANTITIES["consensus_delay_floor"].function(unharmed, share=1e-6)["met"].all()


def test_the_quantity_is_the_log_ratio_by_seed():
    found = measured.settled_ratio(rounds(by_gamma), of="capped")
    assert list(found.index) == [4, 5, 6, 7]
    assert np.allclose(found, np.log(0.5))
    found = measured.settled_ratio(rounds(by_gamma), of="NGO", minus="capped")
    assert np.allclose(found, np.log(8))


@pytest.mark.parametrize("lost", [np.inf, np.nan])
def test_divergence_decides_against_the_side_that_diverged(lost):
    def V(coupling, p, gamma, seed):
        return lost if p == 0.75 and coupling == "power" else 1.0

    assert (measured.settled_ratio(rounds(V), of="NGO") == np.inf).all()
    assert (measured.settled_ratio(rounds(V), of="linear", minus="NGO") == -np.inf).all()
    both = measured.settled_ratio(rounds(lambda *_: lost), of="NGO")  # no comparison
    assert both.isna().all()


def with_V(values):
    return [ended(method=str(k), V=V, loss=x) for k, (V, x) in enumerate(values)]


def test_the_correlation_of_log_V_with_a_loss():
    # log V is 0, 1, 2, 3; the losses 1, 3, 2, 4: r = 4/5.
    rows = table(*with_V(zip(np.exp([0, 1, 2, 3]), (1.0, 3.0, 2.0, 4.0), strict=True)))
    assert measured.fisher_z(rows, "loss").numbers[0] == pytest.approx(np.arctanh(0.8))
    less = measured.fisher_z(rows, "loss", minus=0.5).numbers[0]
    assert less == pytest.approx(np.arctanh(0.8) - 0.5)
    few = table(*with_V([(1.0, 1.0), (2.0, 2.0), (3.0, 1.0)]), ended(method="x", diverged=True))
    assert math.isnan(measured.fisher_z(few, "loss").numbers[0])
    level = table(*with_V([(float(k), 1.0) for k in range(1, 6)]))
    assert math.isnan(measured.fisher_z(level, "loss").numbers[0])
    perfect = table(*with_V([(float(k), float(np.log(k))) for k in range(1, 6)]))
    assert 9 < measured.fisher_z(perfect, "loss").numbers[0] < 15


def test_the_slope_on_log_V_leaves_out_runs_without_one():
    rows = [ended(method=str(V), V=V, accuracy=0.5 - 0.02 * np.log(V)) for V in (1.0, 10.0, 100.0)]
    rows += [ended(method="0", V=0.0, accuracy=0.9), ended(method="lost", V=5.0, diverged=True)]
    rows += [ended(seed=1, method=str(V), V=V) for V in (1.0, 10.0)]
    found = measured.slope_on_V(table(*rows)).numbers
    assert found[0] == pytest.approx(-2)
    assert math.isnan(found[1])


def value(rows, name):
    return per_run(table(rows), name)["value"].item()


def test_values_at_the_end():
    values = {"accuracy": 60, "workers_accuracy": 50, "merge_gain": 10, "V": 4}
    values |= {"loss": 0.5, "workers_loss": 1, "train_loss": 1.5}
    rows = ended(accuracy=0.6, V=4.0, loss=0.5)
    assert {name: value(rows, name) for name in values} == pytest.approx(values)
    rows = evaluations([{"step": k, "accuracy": a} for k, a in enumerate((0.1, 0.7, 0.6))])
    assert value(rows, "best_accuracy") == pytest.approx(70)
    rows = evaluations([{"step": 0}, {"step": 50, "messages": 1000}])
    assert value(rows, "edges") == 10


@pytest.mark.parametrize(
    ("name", "worst"),
    [("accuracy", -math.inf), ("V", math.inf), ("loss", math.inf), ("best_accuracy", -math.inf),
     ({"steps_to_accuracy": 50}, math.inf), ({"mean": "V"}, math.inf)],
)  # fmt: skip
def test_a_diverged_run_has_the_worst_value(name, worst):
    assert value(ended(accuracy=0.9, diverged=True), name) == worst


def test_the_time_to_a_target_is_linear_between_evaluations():
    curve = ((0, 0.1, 2.0), (100, 0.5, 1.0), (200, 0.9, 0.5))
    rows = evaluations([{"step": s, "accuracy": a, "loss": x} for s, a, x in curve])
    assert value(rows, {"steps_to_accuracy": 70}) == pytest.approx(150)
    assert value(rows, {"epochs_to_accuracy": 70}) == pytest.approx(15)
    assert value(rows, {"steps_to_loss": 0.75}) == pytest.approx(150)
    assert value(rows, {"steps_to_accuracy": 95}) == math.inf
    more = ({"virtual_seconds": row["step"] / 10, "joules": 2.0 * row["step"]} for row in rows)
    timed = [row | own for row, own in zip(rows, more, strict=True)]
    assert value(timed, {"virtual_seconds_to_accuracy": 70}) == pytest.approx(15)
    assert value(timed, {"joules_to_loss": 0.75}) == pytest.approx(300)
    refused("joules: not all of these runs have it", value, rows, {"joules_to_accuracy": 70})


def curve(*accuracies):
    """A run whose first half is flat."""
    start = [{"step": 0, "accuracy": 0.5}]
    steps = range(len(accuracies), 2 * len(accuracies))
    return start + [{"step": s, "accuracy": a} for s, a in zip(steps, accuracies, strict=True)]


def test_an_alternating_curve_fluctuates_and_short_and_flat_ones_do_not():
    rows = evaluations(curve(0.5, 0.6, 0.5, 0.6, 0.5, 0.6))
    assert value(rows, "fluctuation") == pytest.approx(10)
    assert math.isnan(value(evaluations(curve(0.1, 0.2, 0.1)), "fluctuation"))
    assert value(evaluations(curve(*[0.5] * 6)), "fluctuation") == 0
