"""A run that is resumed at every step is the run: all that its steps depend on is kept."""

import io

import pytest
import torch
from runs import digits_run, without_clock
from tiny_runs import BASE, ENTRIES, FILES, IMAGES
from torch import nn

import ngo
from ngo.native.threads import one_intra_op_thread
from ngo.training.checkpoint import _compact
from ngo.training.learning_problem import make_problem
from ngo.training.run import Training
from ngo.training.snapshots import load_tensors

#: The fields whose entries draw, count or remember something from step to step.
REMEMBERING = (
    *("topology", "method", "order", "local_rule", "coupling", "compression", "schedule", "attack"),
    *("lr_schedule", "short_share", "churn", "links", "speed", "joins", "outer_rule"),
    *("outer_momentum_of", "initialization", "weights"),
)


def entries():
    """A tiny run of each entry."""
    for field in REMEMBERING:
        for name, needed in ENTRIES[field].items():
            byzantine = {"liars": 2} if field == "attack" else {}
            yield {**BASE, **needed, **byzantine, field: name}


def combined():
    """Runs in which several of them meet: each part of a state matters in one of them."""
    away = {"link_failure": 0.3, "absence": 0.3}
    yield {**BASE, **away, "topology": "one_peer_hypercube", "local_rule": "momentum"}
    yield {**BASE, "method": "local_sgd", "local_steps": 2, "topology": "one_peer_hypercube"}
    yield {**BASE, "method": "local_sgd", "local_steps": 2, "topology": "random_matching", **away}
    yield {**BASE, "method": "gossip_until", "v_threshold": 0.1, "topology": "one_peer_hypercube"}
    yield {**BASE, "method": "delayed", "delay": 2, "topology": "alternating_matching"}
    yield {**BASE, "method": "delayed", "delay": 2, "clock": "waiting", "speed": "log_normal"}
    yield {**BASE, "attack": "noise", "liars": 2, "topology": "random", "coupling": "clipped"}
    waiting = {"clock": "waiting", "bandwidth": 1000.0, "latency": 0.5}
    yield {**BASE, **waiting, "topology": "one_peer_hypercube", "speed": "log_normal"}
    yield {**BASE, "method": "choco", "compression": "random_k", "lr_schedule": "cosine"}
    late = {"clock": "asynchronous", "speed": "log_normal", "latency": 0.7}
    for method in ("ngo", "local_sgd", "gasloc", "ad_psgd"):
        steps = {"local_steps": 2} if method in ("local_sgd", "gasloc") else {}
        yield {**BASE, **late, **steps, "method": method, "local_rule": "momentum"}
    yield {**BASE, **late, "method": "async_push_sum", "topology": "directed_ring"}
    yield {**BASE, **late, "topology": "random_matching", "gamma_decay": 0.5}
    images = {**IMAGES, "epochs": 0.06, "batch_size": 16}
    yield {**BASE, **images, "model": "mnist_cnn", "augmentation": "crop_flip"}


def kept(state):
    """What a checkpoint of the state gives back."""
    buffer = io.BytesIO()
    torch.save(_compact(state), buffer)
    buffer.seek(0)
    return load_tensors(buffer)


def left(training):
    """All that is left of a run, but for the clock."""
    state = kept(training.stepper.state_dict())
    del state["batches"]  # how far ahead they are drawn is chance
    return [without_clock(training.rows), state]


def equal(one, other):
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(one[name], other[name]) for name in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, torch.Tensor):
        return torch.equal(one.nan_to_num(), other.nan_to_num())
    return one == other or (one != one and other != other)


def in_pieces(spec, problem):
    state = None
    for _ in range(problem.last_step):
        training = Training(spec, problem, threads=1)
        if state is not None:
            training.load_state_dict(state)
        turns = training.turns()
        next(turns, None)
        next(turns, None)
        if training.ended:
            return training
        state = kept(training.state_dict())
    return None


def ways():
    for runs, marks in ((combined, ()), (entries, pytest.mark.slow)):
        for values in runs():
            name = "-".join(str(value) for key, value in values.items() if BASE.get(key) != value)
            yield pytest.param(values, id=name, marks=marks)


@pytest.mark.parametrize("values", list(ways()))
@one_intra_op_thread()
def test_a_run_resumed_at_every_step_is_the_run(
    values, least_squares, digits, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    spec = digits_run(**values)
    problem = make_problem(spec, digits if spec.dataset == "digits" else least_squares)
    whole = Training(spec, problem, threads=1)
    whole.proceed()
    assert whole.step > 1
    assert equal(left(in_pieces(spec, problem)), left(whole))


@one_intra_op_thread()
def test_what_batch_normalization_counts_is_restored(own_entries, digits):
    @ngo.model("normalized", input_shape=(1, 28, 28), task="classification")
    def normalized(generator):
        layers = nn.Linear(784, 4), nn.BatchNorm1d(4), nn.Linear(4, 10)
        return nn.Sequential(nn.Flatten(), *layers)

    spec = digits_run(**{**BASE, **IMAGES, "model": "normalized", "epochs": 0.06})
    problem = make_problem(spec, digits)
    whole = Training(spec, problem, threads=1)
    whole.proceed()
    assert equal(left(in_pieces(spec, problem)), left(whole))
