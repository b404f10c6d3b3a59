"""What an own method sends is what is counted: a trial before the run compares the two."""

import pytest
import torch
from own_modules import quick, told
from runs import CONVEX, digits_run
from tiny_runs import ENTRIES

import ngo
from ngo.training.exchange_trial import Trial
from ngo.training.learning_problem import make_problem
from ngo.training.run import stepper_of

#: Fields whose entries send, or change what is sent, and those that seldom matter.
SENT = ("method", "coupling")
SELDOM = (
    "attack",
    "topology",
    "schedule",
    "local_rule",
    "order",
    "outer_rule",
    "outer_momentum_of",
)
SELDOM += ("initialization", "weights")


def right():
    """Tiny runs of entries, and more of their options."""
    for field in (*SENT, *SELDOM):
        for name, needed in ENTRIES[field].items():
            if "graph" not in name and name != "ad_psgd":
                yield field, {**needed, field: name}
    for p in (0.5, 0.7, 1.0):
        yield "p", {"method": "ngo", "p": p}
    for coupling in ("capped", "clipped", "trimmed_mean"):
        all_to_all = {"coupling": coupling, "topology": "complete"}
        yield "coupling", {"method": "local_sgd", "local_steps": 5, **all_to_all}
    for compression in ENTRIES["compression"]:
        yield "compression", {"method": "choco", "compression": compression}
    yield "delay", {"method": "delayed", "delay": 3}
    yield "v_threshold", {"method": "gossip_until", "v_threshold": 0.3, "gamma": 0.5}
    yield "absence", {"method": "ngo", "link_failure": 0.4, "absence": 0.3}
    for clock in ("waiting", "asynchronous"):
        yield "clock", {"method": "ngo", "clock": clock, "speed": "log_normal"}


def right_methods():
    for field, values in right():
        marks = pytest.mark.slow if field in SELDOM else ()
        yield pytest.param(values, marks=marks, id="-".join(map(str, values.values())))


@pytest.mark.parametrize("values", list(right_methods()))
def test_right_methods_pass(values, least_squares):
    """Among them those whose couplings use a part of what is sent."""
    values = {"workers": 8, "batch_size": 8, "gamma": 0.5, **CONVEX, **values}
    if "attack" in values:
        values["liars"] = 2
    spec = digits_run(**values)
    stepper = stepper_of(spec, make_problem(spec, least_squares), [1], threads=1)
    before = stepper.state_dict()
    trial = Trial(stepper)
    assert trial.network.real.messages or "empty" in values.values()
    assert not trial.reached().any()
    assert trial.unused() is None
    after = stepper.state_dict()
    for name in ("step", "graphs", "failures", "compression", "messages", "exchanges"):
        assert str(before[name]) == str(after[name])


def reads_rows(step):
    W = step.network.W
    pull = torch.zeros_like(step.X)
    weights = W.weights[:, None].to(step.X)
    step.X.add_(
        pull.index_add_(0, W.receivers, weights * (step.X[W.senders] - step.X[W.receivers]))
    )


def takes_the_mean(step):
    step.X.copy_(step.X.mean(0))


def rolls(step):
    step.network.mix(step.X)
    step.X.add_(step.X.roll(1, 0)).div_(2)


def follows_a_leader(step):
    step.X.lerp_(step.X[0].clone(), 0.1)


def reads_momentum(step):
    m = step.matrix("m")
    m.mul_(0.9).add_(step.G)
    step.network.mix(step.X)
    m.copy_(step.network.W.dense().to(m) @ m)


def measures_distances(step):
    """What is read decides about a pull alone."""
    if torch.cdist(step.X, step.X).max() > 1:
        step.network.mix(step.X)


def every_tenth_step(step):
    if step.t % 10 == 9:
        takes_the_mean(step)


def of_gradients(step):
    step.network.mix(step.X)
    step.X.sub_(step.G.mean(0), alpha=step.lr)


def half_of_the_mean(step):
    k = step.X.shape[1] // 2
    step.X[:, :k] = step.network.mean(step.X)[..., :k]


def every_second_number(step):
    mixed = step.X.clone()
    step.network.mix(mixed)
    step.X[:, ::2] = mixed[:, ::2]


def a_layer_of_theirs(step):
    receivers, weights, theirs = step.network.neighbours(step.X)
    pulls = weights * (theirs - step.X[receivers])
    pulls[:, 3:] = 0
    step.X.index_add_(0, receivers, pulls)


def own(update):
    @ngo.method("own", fields=("topology",))
    def method(step):
        step.descend()
        update(step)

    return "own"


@pytest.mark.parametrize(
    ("update", "counted"),
    [
        (reads_rows, "0 messages with 0 bytes"),
        (takes_the_mean, "0 messages"),
        (rolls, "6 messages with 384 bytes"),
        (follows_a_leader, "0 messages"),
        (reads_momentum, "6 messages"),
        (measures_distances, "6 messages"),
        (every_tenth_step, "0 messages"),
        (of_gradients, "6 messages"),
    ],
)
def test_rows_that_are_read_without_being_counted_are_refused(update, counted, own_entries):
    line = told(method=own(update), topology="ring", epochs=4)
    assert "method: 'own' reads rows of other workers that step.network has not handed out" in line
    assert f"its first exchange counts {counted}" in line


@pytest.mark.parametrize(
    ("update", "text"),
    [
        (half_of_the_mean, "uses none of 8 of the 16 numbers that mean sends"),
        (every_second_number, "uses none of 8 of the 16 numbers that mix sends"),
        (a_layer_of_theirs, "uses none of 13 of the 16 numbers that neighbours sends"),
    ],
)
def test_numbers_that_are_counted_and_reach_nobody_are_refused(update, text, own_entries):
    assert text in told(method=own(update), topology="ring")


def by_neighbours(step):
    """Dsgd by hand."""
    receivers, weights, theirs = step.network.neighbours(step.X)
    pulls = weights * (theirs - step.X[receivers])
    step.X.index_add_(0, receivers, pulls)


def half_by_neighbours(step):
    half = step.X[:, :8]
    receivers, weights, theirs = step.network.neighbours(half)
    half.index_add_(0, receivers, weights * (theirs - half[receivers]))


def last(run, *names):
    return run.metrics[list(names)].iloc[-1].to_list()


def test_neighbours_rows_count_as_in_dsgd_and_a_half_counts_half(own_entries):
    how = {"topology": "ring", "link_failure": 0.2, "absence": 0.1, "epochs": 2}
    known = last(quick(method="dsgd", **how), "V", "messages", "bytes_sent")
    whole = last(quick(method=own(by_neighbours), **how), "V", "messages", "bytes_sent")
    assert whole[0] == pytest.approx(known[0], rel=1e-4)
    assert whole[1:] == known[1:]


def test_half_of_the_neighbours_rows_counts_half(own_entries):
    messages, sent = last(
        quick(method=own(half_by_neighbours), topology="ring"), "messages", "bytes_sent"
    )
    assert sent == messages * 8 * 4


def test_a_method_that_keeps_its_state_elsewhere_is_refused(own_entries):
    """The trial calls it several times: its own run would begin with what they have left."""
    momentum = {}

    def heavy_ball(step):
        m = momentum.setdefault("m", torch.zeros_like(step.X))
        m.mul_(0.9).add_(step.G)
        step.X.sub_(m)
        step.network.mix(step.X)

    assert "or what it has kept outside of step.matrix" in told(method=own(heavy_ball))


def test_right_methods_of_ones_own_are_not_refused(own_entries):
    """Rare exchanges, several of them, thresholds, random draws, lists of what has been seen."""
    seen = []

    def odd(step):
        seen.append(float(step.X.mean()))
        noise = torch.randn_like(step.X) if step.t % 3 == 2 else 0
        if step.t % 3 == 2 and step.network.index(step.X) > 1e-9:
            receivers, weights, theirs = step.network.neighbours(step.X + noise)
            near = (theirs - step.X[receivers]).norm(dim=1, keepdim=True) < 5
            step.X.index_add_(0, receivers, weights * near * (theirs - step.X[receivers]))
            step.network.mix(step.matrix("m").add_(step.G))
            largest = step.X * (step.X.abs() >= step.X.abs().topk(3, 1).values[:, -1:])
            step.network.mix(largest)
            step.X.lerp_(largest, 0.1)

    assert quick(method=own(odd), topology="ring", epochs=3).spec.method == "own"


def test_neighbours_rows_are_refused_in_virtual_time_without_waiting(own_entries):
    @ngo.method("late", fields=("topology",), asynchronous=True, local_steps=1, delay=0)
    def late(step):
        by_neighbours(step)

    line = told(method="late", topology="ring", clock="asynchronous", speed="log_normal")
    assert line.startswith("clock: 'asynchronous' is not possible with a method that exchanges")
