"""Runs that are stopped or killed, and resumed from their checkpoints."""

import io
import json
import random
import resource
import signal

import pytest
import running
import torch
from runs import files, interrupted, left, resumed, run_in, short_run, stop_at, tiny

from ngo.common import plugins
from ngo.training.checkpoint import Stopped, write
from ngo.training.run import run

PASSES = {"partition": "equal", "samples_per_worker": 40, "epochs": 2.4, "eval_every": 0.8}

FAILING = {"link_failure": 0.3, "absence": 0.3, "local_rule": "nesterov", "warmup": 0.5}


@pytest.fixture(autouse=True)
def without_plugins(monkeypatch):
    """Records name the plugins: another process has none that a test before loaded in this one."""
    monkeypatch.setattr(plugins, "_loaded", {})


def assert_same_when_stopped_at_every_step(spec, folder):
    how = {"snapshots": [0, 2, "final"], "threads": 1}
    assert run_in(spec, folder / "whole", **how) == []
    steps = json.loads((folder / "whole/run.json").read_text())["final"]["step"]
    assert steps > 4
    for step in range(1, steps):
        with pytest.raises(Stopped, match=f"stopped at step {step} of {steps}; the same command"):
            run_in(spec, folder / "pieces", progress=stop_at(step), **how)
        assert files(folder / "pieces") == ["checkpoint.pt"]
    told = run_in(spec, folder / "pieces", **how)
    assert told == [f"resuming at step {steps - 1} of {steps}"]
    assert resumed(folder / "pieces") == list(range(1, steps))
    assert left(folder / "pieces") == left(folder / "whole")
    assert files(folder / "pieces") == files(folder / "whole")


@pytest.mark.parametrize(
    "values",
    [
        {"method": "gossip", "model": "mnist_cnn", "holdout": 0.2},
        {"method": "ngo", "model": "mnist_vae", "task": "vae", "lr": 0.003},
        {"method": "local_sgd", "model": "mnist_cnn", "local_steps": 3, "topology": "random"},
        {"method": "delayed", "model": "mnist_cnn", "delay": 2},
        {"method": "gradient_tracking", "model": "mnist_cnn", **FAILING},
    ],
    ids=lambda values: f"{values['method']}-{values['model']}-{values.get('topology', '')}",
)
def test_a_run_stopped_at_every_step_is_the_run(values, tmp_path):
    """Dropout, noise, random graphs, stale models and half-used passes are restored."""
    assert_same_when_stopped_at_every_step(short_run(**PASSES, **values), tmp_path)


def damaged(data):
    """Ways to damage a file's bytes."""
    yield from (data[:keep] for keep in (0, 1, 31, 32, 33, len(data) // 2, len(data) - 1))
    for at in (0, 100, len(data) // 2, len(data) - 33, len(data) - 1):
        yield data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
    yield b"not a checkpoint\n" * 100
    yield data + b"\0"


def test_a_damaged_checkpoint_is_refused_and_the_run_starts_over(tmp_path):
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


def test_a_checkpoint_without_a_state_of_the_run_is_refused_and_it_starts_over(tmp_path):
    """A whole file, of this run by its description, with another content."""
    spec = tiny()
    run_in(spec, tmp_path / "whole")
    path = interrupted(spec, tmp_path / "run")
    whole = torch.load(io.BytesIO(path.read_bytes()[:-32]), weights_only=True)
    states = [
        {},
        {**whole["state"], "backend": 3},
        {**whole["state"], "population": {"X": torch.zeros(1)}},
        {**whole["state"], "graphs": torch.zeros(2)},
        {**whole["state"], "rows": [1]},
    ]
    for state in states:
        write(path, whole["about"], state)
        told = run_in(spec, tmp_path / "run")
        assert told == [
            f"checkpoint: {str(path)!r} is refused: it holds no state of this run; starting over"
        ]
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


def run_with_small_files(limit, spec, folder):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    (folder / "told").write_text("\n".join(run_in(spec, folder)))


def test_a_full_disk_for_a_checkpoint_stops_no_run(forked, tmp_path):
    process = forked(target=run_with_small_files, args=(100_000, short_run(), tmp_path))
    process.start()
    assert running.exit_code(process) == 0
    path = str(tmp_path / "checkpoint.pt")
    told = f"out: {path!r} can't be written: File too large; training continues"
    assert (tmp_path / "told").read_text() == told
    assert files(tmp_path) == ["metrics.parquet", "run.json", "told"]


def test_a_run_killed_at_random_moments_is_the_run(forked, tmp_path):
    """SIGKILL, 4 times: during starts, steps, checkpoints and ends."""
    spec = short_run(topology="random", u=0.5, epochs=2.0, eval_every=0.2)
    how = {"snapshots": [3, "final"], "threads": 1, "checkpoint_seconds": 0.001}
    run_in(spec, tmp_path / "whole", **how)
    moments = random.Random(0)
    folder, kills = tmp_path / "run", 0
    again = {**how, "overwrite": True}  # a run that ended before its kill starts over
    while True:
        process = forked(target=run, args=(spec, folder, tmp_path), kwargs=again)
        process.start()
        if kills < 4:
            running.awaited(
                lambda begun=process: (folder / "checkpoint.pt").exists() or not begun.is_alive()
            )
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
