"""What an own method sends is what is counted: a trial before the run compares the two."""

import pytest
import torch
from cases import cases
from own_modules import quick, told
from runs import CONVEX, digits_run
from tiny_runs import ENTRIES

import ngo
from ngo.common.registries import COMPRESSIONS
from ngo.gossip.method import GOSSIP_FIELDS, method
from ngo.training.exchange_trial import Trial
from ngo.training.learning_problem import make_problem
from ngo.training.run import stepper_of

pytestmark = pytest.mark.usefixtures("own_entries")

#: Fields whose entries send, or change what is sent, and those that seldom matter.
SENT = ("method", "coupling")
SELDOM = ("attack", "topology", "schedule", "local_rule", "order", "outer_rule")
SELDOM += ("outer_momentum_of", "initialization", "weights")
READS = "step.gossip() reads topology, gamma, gamma_decay, coupling, p."


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


SLOW = [pytest.mark.slow]
RIGHT = [pytest.param(values, marks=SLOW * (field in SELDOM)) for field, values in right()]


@pytest.mark.parametrize("values", RIGHT, ids=lambda values: "-".join(map(str, values.values())))
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
    moves = weights * (step.X[W.senders] - step.X[W.receivers])
    step.X.add_(pull.index_add_(0, W.receivers, moves))


def rolls(step):
    step.network.mix(step.X)
    step.X.add_(step.X.roll(1, 0)).div_(2)


def reads_momentum(step):
    m = step.matrix("m")
    m.mul_(0.9).add_(step.G)
    step.network.mix(step.X)
    m.copy_(step.network.W.dense().to(m) @ m)


def measures_distances(step):
    """What is read decides about a pull alone."""
    if torch.cdist(step.X, step.X).max() > 1:
        step.network.mix(step.X)


def of_gradients(step):
    step.network.mix(step.X)
    step.X.sub_(step.G.mean(0), alpha=step.lr)


def every_second_number(step):
    mixed = step.X.clone()
    step.network.mix(mixed)
    step.X[:, ::2] = mixed[:, ::2]


def a_layer_of_theirs(step):
    receivers, weights, theirs = step.network.neighbours(step.X)
    pulls = weights * (theirs - step.X[receivers])
    pulls[:, 3:] = 0
    step.X.index_add_(0, receivers, pulls)


def own(update, fields=("topology",), returns=False):
    @ngo.method("own", fields=fields)
    def method(step):
        step.descend()
        update(step)
        return step.X if returns else None

    return "own"


@cases(
    "update, counted",
    (lambda step: step.X.copy_(step.X.mean(0)), "0 messages"),
    (lambda step: step.X.lerp_(step.X[0].clone(), 0.1), "0 messages"),  # a leader's
    (lambda step: step.X.copy_(step.X.mean(0)) if step.t % 10 == 9 else 0, "0 messages"),
    *((each, "6 messages") for each in (reads_momentum, measures_distances, of_gradients)),
    (reads_rows, "0 messages with 0 bytes"),
    (rolls, "6 messages with 384 bytes"),
)
def test_rows_that_are_read_without_being_counted_are_refused(update, counted):
    line = told(method=own(update), topology="ring", epochs=4)
    assert "method: 'own' reads rows of other workers that step.network has not handed out" in line
    assert f"its first exchange counts {counted}" in line


@cases(
    "update, text",
    (lambda s: s.X[:, :8].copy_(s.network.mean(s.X)[..., :8]), "8 of the 16 numbers that mean"),
    (every_second_number, "uses none of 8 of the 16 numbers that mix sends"),
    (a_layer_of_theirs, "uses none of 13 of the 16 numbers that neighbours sends"),
)
def test_numbers_that_are_counted_and_reach_nobody_are_refused(update, text):
    assert text in told(method=own(update), topology="ring")


def by_neighbours(step, columns=16):
    """Dsgd by hand."""
    rows = step.X[:, :columns]
    receivers, weights, theirs = step.network.neighbours(rows)
    rows.index_add_(0, receivers, weights * (theirs - rows[receivers]))


def last(run, *names):
    return run.metrics[list(names)].iloc[-1].to_list()


def test_neighbours_rows_count_as_in_dsgd_and_a_half_counts_half():
    how = {"topology": "ring", "link_failure": 0.2, "absence": 0.1, "epochs": 2}
    known = last(quick(method="dsgd", **how), "V", "messages", "bytes_sent")
    whole = last(quick(method=own(by_neighbours), **how), "V", "messages", "bytes_sent")
    assert whole[0] == pytest.approx(known[0], rel=1e-4)
    assert whole[1:] == known[1:]
    half = quick(method=own(lambda step: by_neighbours(step, 8)), topology="ring")
    messages, sent = last(half, "messages", "bytes_sent")
    assert sent == messages * 8 * 4


def test_a_method_that_keeps_its_state_elsewhere_is_refused():
    """The trial calls it several times: its own run would begin with what they have left."""
    momentum = {}

    def heavy_ball(step):
        m = momentum.setdefault("m", torch.zeros_like(step.X))
        m.mul_(0.9).add_(step.G)
        step.X.sub_(m)
        step.network.mix(step.X)

    assert "or what it has kept outside of step.matrix" in told(method=own(heavy_ball))


def test_rows_that_are_read_before_an_exchange_are_refused():
    """The exchange hid them: it gave the worker what it got before."""

    @ngo.local_rule("of_all")
    def of_all(step):
        step.X.sub_(step.G / step.G.norm(), alpha=step.lr)

    fits = {"method": "gossip", "topology": "ring", "local_rule": "of_all"}
    assert told(**fits).startswith("local_rule: 'of_all' reads rows of other workers that")

    def first(step):
        step.X.sub_(step.G.mean(0), alpha=step.lr)
        step.network.mix(step.X)

    assert "method: 'own' reads rows of other workers" in told(method=own(first))


def test_parts_of_a_step_that_keep_their_state_elsewhere_are_refused():
    """Also a method that counts its calls: the trial repeats it at another count."""
    seen = []

    def every_third(step):
        seen.append(step.t)
        if len(seen) % 3 == 0:
            step.network.mix(step.X)

    assert "or what it has kept outside of step.matrix" in told(method=own(every_third))

    @ngo.attack("late")
    def late(messages, run):
        seen.append(messages.truth.clone())
        return seen[-4]

    @ngo.compression("fading")
    class Fading(COMPRESSIONS["none"].of):
        def decode(self, payload):
            seen.append(0)
            return super().decode(payload) / len(seen)

    seen.extend([torch.zeros(16)] * 4)
    assert told(method="ngo", attack="late", liars=1).startswith("attack: 'late' reads rows of")
    line = told(method="choco", compression="fading")
    assert line.startswith("compression: 'fading' reads rows of")


def reads_gradients(step):
    step.descend()
    step.X.sub_(step.G, alpha=step.lr)


def gossips_first(step):
    step.gossip()
    step.descend()


def measures_its_step(step):
    start = step.X.clone()
    step.descend()
    step.X.add_(step.X - start)


@cases("update", reads_gradients, gossips_first, measures_its_step)
def test_a_method_that_does_not_begin_with_a_half_step_as_it_says_is_refused(update):
    """On a CPU the workers take it before: a resumed run had other numbers."""

    def whole(step):
        update(step)
        step.gossip()

    ngo.method("own", fields=GOSSIP_FIELDS, descends=True)(whole)
    line = told(method="own", workers=4)
    assert line.startswith("method: 'own' is no half step and then the rest; with descends=True it")

    @ngo.method("right", fields=GOSSIP_FIELDS, descends=True)
    def right(step):
        step.descend()
        step.gossip()

    quick(method="right")


def test_what_a_method_or_a_rule_returns_is_refused():
    line = told(method=own(lambda step: None, returns=True))
    assert line == (
        "method 'own': it returned a Tensor, which nothing reads; change step.X in place."
    )
    ngo.local_rule("returns")(lambda step: step.X - step.lr * step.G)
    line = told(method="gossip", local_rule="returns")
    assert line.startswith("local_rule: it returned a Tensor, which nothing reads; change step.X")


def test_right_methods_of_ones_own_are_not_refused():
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


def test_neighbours_rows_and_a_second_exchange_are_refused_in_virtual_time():
    @ngo.method("late", fields=("topology",), asynchronous=True, local_steps=1, delay=0)
    def late(step):
        by_neighbours(step)

    line = told(method="late", topology="ring", clock="asynchronous", speed="log_normal")
    assert line.startswith("clock: 'asynchronous' is not possible with a method that exchanges")

    @method("twice", fields=GOSSIP_FIELDS, asynchronous=True, local_steps=1)
    def twice(step):
        step.gossip()
        step.gossip()

    line = told(method="twice", clock="asynchronous", speed="log_normal")
    assert "clock: 'asynchronous' is not possible with a method that exchanges other than" in line


# What a method of one's own does wrong is told in one line, with its name, file and line.


def test_fit_names_a_method_that_fails_and_raises_a_callbacks_own_error():
    @method("sums", fields=("topology",))
    def sums(step):
        step.network.pull(step.X[:2], step.coupling)

    text = told(method="sums")
    assert text.startswith("method 'sums' (test_exchange_trial.py, line ")
    assert text.endswith("2 rows are exchanged among 3 workers.")

    @method("stays", fields=("topology",))
    def stays(step):
        pass

    def callback(state):
        raise ValueError("mine")

    with pytest.raises(ValueError, match="^mine$"):
        quick(method="stays", on_step=callback)


@cases("fields, missing", ((), "gamma"), (("topology", "gamma", "gamma_decay", "coupling"), "p"))
def test_gossip_without_a_field_names_the_method_and_the_field(fields, missing):
    line = told(method=own(lambda step: step.gossip(), fields))
    assert line == (
        f"method: 'own' uses the field {missing!r} of a run and does not declare it; add "
        f"{missing!r} to fields=(…) where it is registered; {READS}"
    )


@cases(
    "fields, update, missing",
    ((), lambda step: step.network.mix(step.X), "topology"),
    (("topology",), lambda step: step.add_pulls(step.G, at=step.X), "coupling"),
    (("topology",), lambda s: s.send_compressed(s.X, s.X, s.X[:0]), "compression"),
    (("topology",), lambda step: step.run.delay + 1, "delay"),
)
def test_other_uses(fields, update, missing):
    line = told(method=own(update, fields))
    assert line.startswith(f"method: 'own' uses the field {missing!r} of a run and does not decl")
