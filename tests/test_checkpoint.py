import hashlib
import io
import json
import multiprocessing
import os
import pickle
import random
import re
import resource
import signal
import sys
import threading
import time
from functools import partial

import numpy as np
import pytest
import running
import torch

from ngo import checkpoint, training
from ngo.backends import Stacked
from ngo.checkpoint import Checkpoints, Refused, Stopped, read, write
from ngo.files import PARTIAL, try_hold
from ngo.population import Population
from ngo.registry import UserError
from ngo.seeding import torch_stream
from ngo.spec import DEFAULTS, resolve

TERM, INT = signal.SIGTERM, signal.SIGINT


def spec_of(**values):
    small = {"dataset": "digits", "batch_size": 16, "workers": 3, "eval_every": 0.07}
    return resolve({}, {**DEFAULTS, **small, "epochs": 0.2, **values})


def tiny(**values):
    """A run of some hundredths of a second, with evaluations after 0, 3, 6, … 30 steps."""
    least_squares = {"dataset": "least_squares", "model": "linear", "task": "regression"}
    return spec_of(**least_squares, epochs=0.225, eval_every=0.0225, **values)


def run(spec, folder, **how):
    """Train ``spec`` in ``folder``, and what was told of it."""
    told = []
    training.run(spec, folder, folder, tell=told.append, **how)
    return told


def stop_at(last):
    """A ``progress`` that sends SIGTERM to this process after the step ``last``."""

    def progress(step):
        if step == last:
            os.kill(os.getpid(), TERM)

    return progress


def interrupted(spec, folder, step=5, **how):
    """The path of the checkpoint of a run stopped after ``step``."""
    with pytest.raises(Stopped, match=f"stopped at step {step} of"):
        run(spec, folder, progress=stop_at(step), **how)
    return folder / "checkpoint.pt"


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def left(folder):
    """All that a run leaves, byte by byte; of its record, without what measures the machine."""
    record = json.loads((folder / "run.json").read_text())
    for key in ("started", "wall_seconds", "evaluation_seconds", "resumed_at_steps"):
        del record[key]
    models = folder / "models.pt"
    return (
        (folder / "metrics.parquet").read_bytes(),
        record,
        models.read_bytes() if models.exists() else None,
    )


def resumed(folder):
    return json.loads((folder / "run.json").read_text())["resumed_at_steps"]


@pytest.mark.parametrize(
    "values",
    [
        {"protocol": "centralized", "model": "mnist_cnn"},
        {"protocol": "gossip", "model": "mnist_cnn", "holdout": 0.2},
        {"protocol": "ngo", "model": "mnist_vae", "task": "vae", "lr": 0.003},
        {"protocol": "ngo", "model": "mnist_cnn", "topology": "random", "u": 0.5},
        {"protocol": "local_sgd", "model": "mnist_cnn", "local_steps": 3, "topology": "random"},
        {"protocol": "delayed", "model": "mnist_cnn", "delay": 2},
        {"protocol": "gossip_until", "model": "mnist_cnn", "v_threshold": 1e-3},
    ],
    ids=lambda values: f"{values['protocol']}-{values['model']}-{values.get('topology', '')}",
)
def test_a_run_stopped_at_every_step_is_the_run(values, tmp_path):
    """Dropout, noise, random graphs, stale models and half-used passes go on where they were."""
    passes = {"partition": "equal", "samples_per_worker": 40, "epochs": 2.4, "eval_every": 0.8}
    spec, how = spec_of(**passes, **values), {"snapshots": [0, 2, "final"], "threads": 1}
    assert run(spec, tmp_path / "whole", **how) == []
    steps = json.loads((tmp_path / "whole/run.json").read_text())["final"]["step"]
    assert steps > 4
    for step in range(1, steps):
        with pytest.raises(Stopped, match=f"stopped at step {step} of {steps}; the same command"):
            run(spec, tmp_path / "pieces", progress=stop_at(step), **how)
        assert files(tmp_path / "pieces") == ["checkpoint.pt"]
    told = run(spec, tmp_path / "pieces", **how)
    assert told == [f"resuming at step {steps - 1} of {steps}"]
    assert resumed(tmp_path / "pieces") == list(range(1, steps))
    assert left(tmp_path / "pieces") == left(tmp_path / "whole")
    assert files(tmp_path / "pieces") == files(tmp_path / "whole")


def test_a_population_keeps_buffers_and_dropout():
    """Batch normalization's means and variances, which only networks for larger images have."""
    images = torch.randint(0, 256, (2, 2, 3, 32, 32), dtype=torch.uint8)
    first, second = (Population("cifar10_vae", 2, seed) for seed in (0, 1))
    first.gradients(Stacked(images / 255, images))
    second.load_state_dict({k: v.clone() for k, v in first.state_dict().items()})
    losses = [population.gradients(Stacked(images / 255, images)) for population in (first, second)]
    assert torch.equal(*losses)
    assert torch.equal(first.G, second.G)
    assert torch.equal(first.buffers, second.buffers)


def test_batches_go_on():
    def fresh(seed):
        return training.BatchStream(np.arange(10), 4, torch_stream(seed, "batches", 0))

    for drawn in range(7):
        first, second = fresh(0), fresh(1)
        for _ in range(drawn):
            next(first)
        second.load_state_dict(first.state_dict())
        for _ in range(5):
            assert torch.equal(next(first), next(second))


def test_a_backend_chosen_is_kept(tmp_path, monkeypatch):
    spec = tiny()
    interrupted(spec, tmp_path)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    built = []
    keep = training.Population
    monkeypatch.setattr(
        training, "Population", lambda *a, **k: built.append(k["backend"]) or keep(*a, **k)
    )
    run(spec, tmp_path)
    assert built == ["threads"]  # and not "auto", which might choose another now


def test_seconds_go_on_from_the_checkpoints(tmp_path):
    spec = tiny()
    path = interrupted(spec, tmp_path)
    found = torch.load(path, weights_only=True)
    found["state"]["seconds"] = 1000.0
    write(path, found["about"], found["state"])
    run(spec, tmp_path)
    seconds = json.loads((tmp_path / "run.json").read_text())["evaluation_seconds"]
    assert all(s < 1000 for s in seconds[:2])  # steps 0 and 3, before the stop at 5
    assert all(s > 1000 for s in seconds[2:])
    assert seconds == sorted(seconds)


def damaged(data):
    """Ways to damage a file's bytes."""
    yield from (data[:keep] for keep in (0, 1, 31, 32, 33, len(data) // 2, len(data) - 1))
    for at in (0, 100, len(data) // 2, len(data) - 33, len(data) - 1):
        yield data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
    yield b"not a checkpoint\n" * 100
    yield data + b"\0"


def test_a_damaged_checkpoint_is_refused_and_the_run_starts_over(tmp_path):
    spec = tiny()
    run(spec, tmp_path / "whole")
    path = interrupted(spec, tmp_path / "run")
    for data in list(damaged(path.read_bytes())):
        path.write_bytes(data)
        told = run(spec, tmp_path / "run")
        assert told == [f"checkpoint: {str(path)!r} is refused: it is damaged; starting over"]
        assert resumed(tmp_path / "run") == []
        assert left(tmp_path / "run") == left(tmp_path / "whole")
        assert not path.exists()


class Evil:
    def __reduce__(self):
        return os.system, ("touch executed",)


@pytest.mark.parametrize("content", [Evil(), {"about": {}}, ["state"], 3])
def test_no_file_is_believed(content, tmp_path, monkeypatch):
    """Even with a true checksum: nothing in it is run, and no run is taken from it."""
    monkeypatch.chdir(tmp_path)
    buffer = io.BytesIO()
    torch.save(content, buffer)
    for data in (buffer.getvalue(), pickle.dumps(content, protocol=2)):
        (tmp_path / "checkpoint.pt").write_bytes(data + hashlib.sha256(data).digest())
        with pytest.raises(Refused, match="it holds no run"):
            read(tmp_path / "checkpoint.pt", {})
    assert files(tmp_path) == ["checkpoint.pt"]


PARTS = [np.arange(k, 6400, 3) for k in range(3)]


@pytest.mark.parametrize(
    ("change", "how", "named"),
    [
        ({"lr": 0.01}, {}, "lr 0.05 and not 0.01"),
        ({"seed": 1}, {}, "seed 0 and not 1"),
        ({}, {"snapshots": [3]}, r"snapshots \[\] and not \['3'\]"),
        ({"backend": "loop"}, {}, "backend 'auto' and not 'loop'"),
        ({}, {"parts": PARTS}, "parts '[0-9a-f]{16}' and not '[0-9a-f]{16}'"),
    ],
)
def test_another_runs_checkpoint_is_lost_only_to_overwrite(
    change, how, named, tmp_path, monkeypatch
):
    """Also where it is made by other code, which alone would be no reason."""
    first, second = tiny(), tiny(**change)
    path = interrupted(first, tmp_path / "run")
    kept = path.read_bytes()
    monkeypatch.setattr(training, "CODE", "new")
    message = (
        f"out: '.*/run' holds the unfinished run {first.id}, with {named}; choose another folder, "
        f"or train over it with --overwrite."
    )
    with pytest.raises(UserError) as told:
        run(second, tmp_path / "run", **how)
    assert re.fullmatch(message, str(told.value))
    assert files(tmp_path / "run") == ["checkpoint.pt"]
    assert path.read_bytes() == kept
    (line,) = run(second, tmp_path / "run", overwrite=True, **how)
    assert re.fullmatch(
        f"checkpoint: '.*' is refused: it is of the run {first.id}, with {named}; starting over",
        line,
    )
    run(second, tmp_path / "whole", **how)
    assert left(tmp_path / "run") == left(tmp_path / "whole")


@pytest.mark.parametrize(
    ("how", "named"),
    [
        ((checkpoint, "LAYOUT", 0), "layout 1 and not 0"),
        ((training, "CODE", "new"), f"code {training.CODE!r} and not 'new'"),
        ((torch, "__version__", "0.4"), f"torch '{re.escape(torch.__version__)}' and not '0.4'"),
        (
            (training, "_device_name", lambda device: "abacus"),
            "device 'cpu .*' and not 'abacus'",
        ),
    ],
)
def test_a_checkpoint_made_otherwise_is_refused(how, named, tmp_path, monkeypatch):
    interrupted(tiny(), tmp_path / "run")
    monkeypatch.setattr(*how)
    (line,) = run(tiny(), tmp_path / "run")
    run(tiny(), tmp_path / "whole")
    message = f"checkpoint: '.*' is refused: it is made with {named}; starting over"
    assert re.fullmatch(message, line)
    assert left(tmp_path / "run") == left(tmp_path / "whole")


def test_a_kill_after_the_results_and_before_the_end(tmp_path):
    """The checkpoint is the last to go, so its run is finished again, to the same bytes."""
    spec, how = tiny(), {"snapshots": [2, "final"]}
    path = interrupted(spec, tmp_path, **how)
    kept = path.read_bytes()
    run(spec, tmp_path, **how)
    first = left(tmp_path)
    path.write_bytes(kept)
    assert run(spec, tmp_path, **how) == ["resuming at step 5 of 30"]
    assert left(tmp_path) == first
    assert files(tmp_path) == ["metrics.parquet", "models.pt", "run.json"]


def test_what_a_kill_left_half_written_goes(tmp_path):
    for name in ("checkpoint.pt", "metrics.parquet", "run.json", "models.pt"):
        (tmp_path / f"{PARTIAL}{name}.abc{name[name.index('.') :]}").write_text("half")
    (tmp_path / ".mine.json").write_text("mine")
    run(tiny(), tmp_path)
    assert files(tmp_path) == [".mine.json", "metrics.parquet", "run.json"]


def test_two_runs_take_turns_in_one_folder(tmp_path):
    held, told, done = try_hold(tmp_path / ".lock"), [], []

    def second():
        training.run(tiny(), tmp_path, tmp_path, tell=told.append)
        done.append(True)

    thread = threading.Thread(target=second, daemon=True)
    thread.start()
    running.awaited(lambda: told)
    assert told == [f"waiting for another run in {tmp_path}"]
    assert files(tmp_path) == [".lock"]
    held.close()
    thread.join(running.LIMIT)
    assert done
    assert files(tmp_path) == ["metrics.parquet", "run.json"]


class Kept:
    """A state that counts how often it was asked for."""

    def __init__(self, seconds=0.0):
        self.times = 0
        self.seconds = seconds

    def __call__(self):
        self.times += 1
        time.sleep(self.seconds)
        return {}


def test_a_checkpoint_is_due_at_evaluations_and_by_the_clock(tmp_path):
    state = Kept()
    never = Checkpoints(tmp_path / "c.pt", {}, every=0)
    never.keep(0, 9, False, state)
    assert state.times == 0
    never.keep(1, 9, True, state)
    assert state.times == 1
    always = Checkpoints(tmp_path / "c.pt", {}, every=1e-9)
    for step in range(3):
        always.keep(step, 9, False, state)
    assert state.times == 4
    minutely = Checkpoints(tmp_path / "c.pt", {}, every=60)
    minutely.keep(0, 9, False, state)
    assert state.times == 4


def test_checkpoints_cost_little_whatever_they_take(tmp_path):
    slow = Kept(seconds=0.1)
    checkpoints = Checkpoints(tmp_path / "c.pt", {})
    for step in range(9):
        checkpoints.keep(step, 9, True, slow)
    assert slow.times == 1  # the next is due 0.1 / SHARE = 2 s later


def test_a_checkpoint_that_cannot_be_written_stops_no_run(tmp_path):
    (tmp_path / "file").write_text("")
    told = []
    with Checkpoints(tmp_path / "file/c.pt", {}, 1e-9, told.append) as checkpoints:
        for step in range(3):
            checkpoints.keep(step, 9, True, dict)
        os.kill(os.getpid(), TERM)
        with pytest.raises(Stopped, match="stopped at step 3 of 9.* no checkpoint was written"):
            checkpoints.keep(3, 9, True, dict)
    assert len(told) == 1
    assert "can't be written" in told[0]


def run_with_small_files(limit, spec, folder):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    (folder / "told").write_text("\n".join(run(spec, folder)))


def test_a_disk_without_room_for_a_checkpoint_stops_no_run(forked, tmp_path):
    spec = spec_of()
    process = forked(target=run_with_small_files, args=(100_000, spec, tmp_path))
    process.start()
    assert exit_code(process) == 0
    path = str(tmp_path / "checkpoint.pt")
    told = f"out: {path!r} can't be written: File too large; going on"
    assert (tmp_path / "told").read_text() == told
    assert files(tmp_path) == ["metrics.parquet", "run.json", "told"]


def test_signals_together_are_one_and_handlers_are_given_back(tmp_path):
    before = [signal.getsignal(number) for number in (TERM, INT)]
    with Checkpoints(tmp_path / "c.pt", {}) as checkpoints:
        for number in (INT, TERM, INT):
            os.kill(os.getpid(), number)
        with pytest.raises(Stopped) as stopped:
            checkpoints.keep(1, 9, False, dict)
    assert stopped.value.number == INT
    assert [signal.getsignal(number) for number in (TERM, INT)] == before
    assert read(tmp_path / "c.pt", {}) == {}


def insist(path, first, second):
    checkpoint.TOGETHER = 0
    with Checkpoints(path, {}):
        os.kill(os.getpid(), first)
        time.sleep(0.01)
        os.kill(os.getpid(), second)
        time.sleep(running.LIMIT)


@pytest.fixture(scope="module")
def forked():
    """Processes forked from one that has torch, as warm starts are."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["ngo.training", "sklearn.datasets", "test_checkpoint"])
    return partial(context.Process, daemon=True)


def exit_code(process):
    """That of a forked process which ends in time, or is killed."""
    process.join(running.LIMIT)
    process.kill()
    process.join()
    return process.exitcode


@pytest.mark.parametrize("numbers", [(TERM, INT), (INT, TERM)])
def test_a_second_signal_later_ends_a_run_at_once(numbers, forked, tmp_path):
    process = forked(target=insist, args=(tmp_path / "c.pt", *numbers))
    process.start()
    assert exit_code(process) == -numbers[1]


def ngo_train(spec, out):
    return running.start(
        [sys.executable, "-m", "ngo", "train", *spec.flags(), "--device", "cpu", "--out", out],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def test_signals_to_the_command(tmp_path):
    """SIGTERM, then SIGINT, then the rest: three times the same command."""
    spec = spec_of(epochs=4.0, eval_every=0.25)
    run(spec, tmp_path / "whole")
    at = None
    for number in (TERM, INT):
        process = ngo_train(spec, tmp_path / "pieces")
        lines = [process.stderr.readline()]
        while not lines[-1].startswith("epoch"):
            lines.append(process.stderr.readline())
        process.send_signal(number)
        out, err = running.ended(process)
        assert process.returncode == 128 + number
        assert out == ""
        assert lines[1:-1] == ([f"resuming at step {at} of 120\n"] if at is not None else [])
        last = err.splitlines()[-1]
        at = int(last.split("step ")[1].split()[0])
        assert last == f"ngo: stopped at step {at} of 120; the same command resumes"
        assert files(tmp_path / "pieces") == ["checkpoint.pt"]
    process = ngo_train(spec, tmp_path / "pieces")
    _, err = running.ended(process)
    assert process.returncode == 0, err
    assert f"resuming at step {at} of 120\n" in err
    assert left(tmp_path / "pieces") == left(tmp_path / "whole")


def test_torture(forked, tmp_path):
    """20 times kill −9 at random moments, of starts, steps, checkpoints and ends."""
    spec = spec_of(topology="random", u=0.5, epochs=2.0, eval_every=0.2)
    how = {"snapshots": [3, "final"], "threads": 1, "checkpoint_seconds": 0.001}
    run(spec, tmp_path / "whole", **how)
    moments = random.Random(0)
    folder, kills = tmp_path / "run", 0
    again = {**how, "overwrite": True}  # where a run ended before it was killed, it begins anew
    while True:
        process = forked(target=training.run, args=(spec, folder, tmp_path), kwargs=again)
        process.start()
        if kills < 20:
            running.awaited(
                lambda begun=process: (folder / "checkpoint.pt").exists() or not begun.is_alive()
            )
            process.join(moments.uniform(0, 0.3))
            process.kill()
        if exit_code(process) == -signal.SIGKILL:
            kills += 1
            continue
        assert process.exitcode == 0
        assert left(folder) == left(tmp_path / "whole")
        assert files(folder) == files(tmp_path / "whole")
        if kills == 20:
            break
    assert resumed(folder)
