"""Runs that are stopped or killed, and resumed from their checkpoints."""

import io
import json
import random
import signal

import pytest
import running
import runs
import torch
from cases import cases
from runs import files, interrupted, left, resumed, run_in, stop_at, tiny
from tiny_runs import BASE, ENTRIES, FILES, IMAGES

from ngo.common import plugins
from ngo.native.threads import one_intra_op_thread
from ngo.training.checkpoint import Stopped, _compact, write
from ngo.training.learning_problem import make_problem
from ngo.training.run import Training, run
from ngo.training.snapshots import load_tensors

PASSES = {"partition": "equal", "samples_per_worker": 40, "epochs": 2.4, "eval_every": 0.8}
FAILING = {"link_failure": 0.3, "absence": 0.3, "local_rule": "nesterov", "warmup": 0.5}
#: The fields whose entries draw, count or remember something from step to step.
REMEMBERING = (
    *("topology", "method", "order", "local_rule", "coupling", "compression", "schedule", "attack"),
    *("lr_schedule", "short_share", "churn", "links", "speed", "joins", "outer_rule"),
    *("outer_momentum_of", "initialization", "weights"),
)


@pytest.fixture(autouse=True)
def without_plugins(monkeypatch):
    """Records name the plugins: another process has none that a test before loaded in this one."""
    monkeypatch.setattr(plugins, "_loaded", {})


@cases(
    "values",
    {"method": "gossip", "model": "mnist_cnn", "holdout": 0.2},
    {"method": "ngo", "model": "mnist_vae", "task": "vae", "lr": 0.003},
    {"method": "local_sgd", "model": "mnist_cnn", "local_steps": 3, "topology": "random"},
    {"method": "delayed", "model": "mnist_cnn", "delay": 2},
    {"method": "gradient_tracking", "model": "mnist_cnn", **FAILING},
    ids=lambda values: f"{values['method']}-{values['model']}-{values.get('topology', '')}",
)
def test_a_run_stopped_at_every_step_is_the_run(values, tmp_path):
    """Dropout, noise, random graphs, stale models and half-used passes are restored."""
    spec, how = runs.short_run(**PASSES, **values), {"snapshots": [0, 2, "final"], "threads": 1}
    assert run_in(spec, tmp_path / "whole", **how) == []
    steps = json.loads((tmp_path / "whole/run.json").read_text())["final"]["step"]
    assert steps > 4
    for step in range(1, steps):
        with pytest.raises(Stopped, match=f"stopped at step {step} of {steps}; the same command"):
            run_in(spec, tmp_path / "pieces", progress=stop_at(step), **how)
        assert files(tmp_path / "pieces") == ["checkpoint.pt"]
    assert run_in(spec, tmp_path / "pieces", **how) == [f"resuming at step {steps - 1} of {steps}"]
    assert resumed(tmp_path / "pieces") == list(range(1, steps))
    assert left(tmp_path / "pieces") == left(tmp_path / "whole")
    assert files(tmp_path / "pieces") == files(tmp_path / "whole")


def damaged(data):
    """Ways to damage a file's bytes."""
    yield from (data[:keep] for keep in (0, 1, 31, 32, 33, len(data) // 2, len(data) - 1))
    for at in (0, 100, len(data) // 2, len(data) - 33, len(data) - 1):
        yield data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
    yield b"not a checkpoint\n" * 100
    yield data + b"\0"


def test_a_damaged_or_foreign_checkpoint_is_refused_and_the_run_starts_over(tmp_path):
    spec = tiny()
    run_in(spec, tmp_path / "whole")
    path = interrupted(spec, tmp_path / "run")
    for data in list(damaged(path.read_bytes())):
        path.write_bytes(data)
        told = run_in(spec, tmp_path / "run")
        reason = "it is damaged, or another program's, and kept as checkpoint.pt.refused"
        assert told == [f"checkpoint: {str(path)!r} is refused: {reason}; starting over"]
        assert resumed(tmp_path / "run") == []
        assert left(tmp_path / "run") == left(tmp_path / "whole")
        assert not path.exists()
        assert path.with_name("checkpoint.pt.refused").read_bytes() == data
    # A whole file, of this run by its description, with another content.
    interrupted(spec, tmp_path / "run", overwrite=True)
    whole = torch.load(io.BytesIO(path.read_bytes()[:-32]), weights_only=True)
    zeros = torch.zeros(2)
    wrong = {"backend": 3, "population": {"X": zeros}, "graphs": zeros, "rows": [1]}
    for state in ({}, *({**whole["state"], name: value} for name, value in wrong.items())):
        write(path, whole["about"], state)
        line = f"checkpoint: {str(path)!r} is refused: it holds no state of this run; starting over"
        assert run_in(spec, tmp_path / "run") == [line]
        assert resumed(tmp_path / "run") == []
        assert left(tmp_path / "run") == left(tmp_path / "whole")
        interrupted(spec, tmp_path / "run", overwrite=True)


def test_a_kill_after_the_results_and_before_the_end(tmp_path):
    """The checkpoint is removed last, so the run is finished again, with the same bytes."""
    spec, how = tiny(), {"snapshots": [2, "final"]}
    path = interrupted(spec, tmp_path, **how)
    kept = path.read_bytes()
    run_in(spec, tmp_path, **how)
    first = left(tmp_path)
    path.write_bytes(kept)
    assert run_in(spec, tmp_path, **how) == ["resuming at step 5 of 30"]
    assert left(tmp_path) == first
    assert files(tmp_path) == ["metrics.parquet", "models.pt", "run.json"]


def test_a_run_killed_at_random_moments_is_the_run(forked, tmp_path):
    """SIGKILL, 4 times: during starts, steps, checkpoints and ends."""
    spec = runs.short_run(topology="random", u=0.5, epochs=2.0, eval_every=0.2)
    how = {"snapshots": [3, "final"], "threads": 1, "checkpoint_seconds": 0.001}
    run_in(spec, tmp_path / "whole", **how)
    moments, folder, kills = random.Random(0), tmp_path / "run", 0
    there = (folder / "checkpoint.pt").exists
    again = {**how, "overwrite": True}  # a run that ended before its kill starts over
    while True:
        process = forked(target=run, args=(spec, folder, tmp_path), kwargs=again)
        process.start()
        if kills < 4:
            running.awaited(lambda begun=process: there() or not begun.is_alive())
            process.join(moments.uniform(0, 0.3))
            process.kill()
        if running.exit_code(process) == -signal.SIGKILL:
            kills += 1
            continue
        assert process.exitcode == 0
        assert left(folder) == left(tmp_path / "whole")
        assert files(folder) == files(tmp_path / "whole")
        if kills == 4:
            break
    assert resumed(folder)


# A run that is resumed at every step is the run: all that its steps depend on is kept.


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
    late = {"clock": "asynchronous", "speed": "log_normal", "latency": 0.7, "message_loss": 0.1}
    for method in ("ngo", "local_sgd", "gasloc", "outer", "ad_psgd"):
        steps = {"local_steps": 2} if method in ("local_sgd", "gasloc", "outer") else {}
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


def remains(training):
    """All that is remains of a run, but for the clock."""
    state = kept(training.stepper.state_dict())
    del state["batches"]  # how far ahead they are drawn is chance
    return [runs.without_clock(training.rows), state]


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
    for made, marks in ((combined, ()), (entries, pytest.mark.slow)):
        for values in made():
            name = "-".join(str(value) for key, value in values.items() if BASE.get(key) != value)
            yield pytest.param(values, id=name, marks=marks)


@pytest.mark.parametrize("values", list(ways()))
@one_intra_op_thread()
def test_resumed_at_every_step_it_is_the_run(values, least_squares, digits, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    spec = runs.digits_run(**values)
    problem = make_problem(spec, digits if spec.dataset == "digits" else least_squares)
    whole = Training(spec, problem, threads=1)
    whole.proceed()
    assert whole.step > 1
    assert equal(remains(in_pieces(spec, problem)), remains(whole))
