"""What a job trains, and what it finds in results/runs."""

import json
import os
import shutil
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import running
import torch
from cases import mistake_of, refused
from runs import contents, interrupted, resumed, stop_at, tiny

import ngo
from ngo.common.files import hashed, try_lock
from ngo.engine.population import Stack
from ngo.pipeline.job_training import train_job, try_combinations
from ngo.pipeline.jobs import Combination, Job
from ngo.pipeline.paths import RUNS, job_table
from ngo.pipeline.workflow_start import write_files
from ngo.training import run as training_run
from ngo.training import tidy
from ngo.training.checkpoint import Stopped
from ngo.training.run import run, turns
from ngo.training.run_folder import write_results
from verdicts.registry import UserError

SPECS = [tiny(method=method, seed=seed) for method in ("gossip", "ngo") for seed in (0, 1)]
HOOKS = ("first step", "last step", "last evaluation", "writing", "between runs", "failing")


class Trainer:
    """Trains jobs in the working directory, and lists the runs that it has trained."""

    def __init__(self, **how):
        self.trained, self.how, self.failing, self.width = [], how, (), 1

    def __call__(self, spec, folder, **how):
        if spec in self.failing:
            raise UserError("lr: this run fails.")
        last = yield from turns(spec, folder, RUNS, overwrite=True, **self.how, **how)
        if last is not None:
            self.trained.append(spec)
        self.ended()
        return last

    def ended(self):
        """A run has ended."""

    def job(self, specs=SPECS, snapshots=None):
        """Plan a job of these runs, and train it: its table, and the runs that were trained."""
        combinations = {}
        for spec in specs:
            combinations.setdefault(replace(spec, seed=0), []).append(spec)
        cut = tuple(Combination(tuple(runs)) for runs in combinations.values())
        job = Job("own", job_table("test", "own"), "one", cut, snapshots or {})
        write_files([job])
        self.trained.clear()
        return train_job(Path(job.file), job.key, self, self.width), list(self.trained)


@pytest.fixture
def trainer(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Trainer()


def metrics(specs=SPECS):
    return [RUNS / spec.id / "metrics.parquet" for spec in specs]


def test_a_job_trains_what_is_missing_and_nothing_twice(trainer):
    table, trained = trainer.job(SPECS[:3])
    assert trained == SPECS[:3]
    made = [path.read_bytes() for path in metrics(SPECS[:3])]
    first = table.read_bytes()
    left = RUNS / SPECS[0].id / ".lock"  # its process was killed after its last result
    left.touch()
    assert trainer.job(SPECS[:3]) == (table, [])
    assert table.read_bytes() == first
    assert not left.exists()
    assert trainer.job()[1] == SPECS[3:]
    assert [path.read_bytes() for path in metrics(SPECS[:3])] == made
    assert trainer.job(SPECS[:3]) == (table, [])
    assert table.read_bytes() == first
    table, _ = trainer.job()
    assert str(table) == "results/test/jobs/own.parquet"
    found = pd.read_parquet(table)
    assert set(found["run"]) == {spec.id for spec in SPECS}
    pd.testing.assert_frame_equal(found, tidy.aggregate(metrics()).to_pandas())


def changed_record(**changes):
    """A damage: other values in parts of the record, such as ``about``."""

    def damage(folder):
        path = folder / "run.json"
        record = json.loads(path.read_text())
        for part, values in changes.items():
            record[part].update(values)
        path.write_text(json.dumps(record))

    return damage


def cut(name, bytes):
    """A damage: a file without its last bytes."""
    return lambda folder: os.truncate(folder / name, (folder / name).stat().st_size - bytes)


DAMAGES = (
    cut("metrics.parquet", 1),
    lambda folder: shutil.copy(metrics(SPECS[:1])[0], folder),  # those of another run
    lambda folder: (folder / "metrics.parquet").unlink(),
    shutil.rmtree,
    cut("run.json", 9),
    lambda folder: (folder / "run.json").write_text("[" * 10**5),
    changed_record(about={"code": "0"}),
    changed_record(versions={"torch": "1.0"}),
    changed_record(about={"distributed": {"processes": 2}}),
    changed_record(spec={"lr": 0.123}),
    changed_record(about={"snapshots": 7}),
)


def test_a_run_that_is_not_whole_or_made_otherwise_is_trained_again(trainer):
    specs = [SPECS[0], SPECS[2]]
    table, _ = trainer.job(specs)
    victim = RUNS / SPECS[2].id
    whole, first = contents(victim), table.read_bytes()
    for number, damage in enumerate(DAMAGES):
        damage(victim)
        assert trainer.job(specs) == (table, [SPECS[2]]), number
        assert contents(victim)["metrics.parquet"] == whole["metrics.parquet"]
        assert table.read_bytes() == first
    assert trainer.job(specs)[1] == []


def test_models_that_are_asked_for_later_are_made(trainer):
    trainer.job()
    asked = {SPECS[1].id: [2, "final"]}
    before = metrics([SPECS[1]])[0].read_bytes()
    assert trainer.job(snapshots=asked)[1] == [SPECS[1]]
    assert metrics([SPECS[1]])[0].read_bytes() == before
    assert trainer.job(snapshots=asked)[1] == []
    assert trainer.job(snapshots={SPECS[1].id: ["final"]})[1] == []
    assert trainer.job()[1] == []  # it kept more
    models = RUNS / SPECS[1].id / "models.pt"
    for damage in (models.unlink, lambda: models.write_bytes(models.read_bytes()[:-30])):
        damage()
        assert trainer.job()[1] == []
        assert trainer.job(snapshots=asked)[1] == [SPECS[1]]


@pytest.mark.parametrize("finished", [True, False])
def test_a_run_of_another_process_comes_last_once(finished, trainer, caplog, tmp_path):
    caplog.set_level("INFO")
    folder = RUNS / SPECS[0].id
    folder.mkdir(parents=True)
    held, ends = try_lock(folder / ".lock"), []
    thread = threading.Thread(target=lambda: ends.append(trainer.job()), daemon=True)
    thread.start()
    waiting = f"{SPECS[0].id}: another job trains it; waiting"
    running.awaited(lambda: waiting in caplog.messages)
    assert trainer.trained == SPECS[1:]
    if finished:
        run(SPECS[0], tmp_path / "other", tmp_path)
        for name, content in contents(tmp_path / "other").items():
            (folder / name).write_bytes(content)
    held.release()
    thread.join(running.LIMIT)
    (found,) = ends
    assert found[1] == [*SPECS[1:], *([] if finished else SPECS[:1])]
    assert set(pd.read_parquet(found[0])["run"]) == {spec.id for spec in SPECS}
    assert caplog.messages.count(waiting) == 1


def test_a_run_that_fails_leaves_the_others_alone_and_is_named(trainer, caplog):
    trainer.failing = [SPECS[1]]
    line = f"{SPECS[1].id}: lr: this run fails."
    assert mistake_of(trainer.job) == line
    assert f"ngo: {line}" in caplog.messages
    assert trainer.trained == [SPECS[0], *SPECS[2:]]
    assert not (RUNS.parent / "test/jobs/own.parquet").exists()
    trainer.failing = SPECS[1:3]
    for spec in SPECS[1:3]:
        (RUNS / spec.id / "run.json").unlink(missing_ok=True)
    assert mistake_of(trainer.job) == f"{line} (2 runs failed)"
    trainer.failing = ()
    assert trainer.job()[1] == SPECS[1:3]


def test_a_run_goes_on_from_its_checkpoint(trainer):
    interrupted(SPECS[0], RUNS / SPECS[0].id)
    trainer.job(SPECS[:2])
    assert [resumed(RUNS / spec.id) for spec in SPECS[:2]] == [[5], []]


def test_runs_in_lockstep_stop_go_on_and_end_as_alone(trainer):
    """Three stop at a signal, and go on together with one more."""
    trainer.job()
    alone = [path.read_bytes() for path in metrics()]
    shutil.rmtree(RUNS)
    trainer.width, trainer.how = 4, {"progress": stop_at(5)}
    with pytest.raises(Stopped, match="stopped at step 5 of"):
        trainer.job(SPECS[:3])
    trainer.how = {}
    assert trainer.job()[1] == SPECS
    assert [path.read_bytes() for path in metrics()] == alone
    records = [json.loads((RUNS / spec.id / "run.json").read_text()) for spec in SPECS]
    assert [record["resumed_at_steps"] for record in records] == [[5], [5], [5], []]
    assert [record["width"] for record in records] == [4] * 4


def pressed(hook, number, trainer, patch):
    """Have a signal come at a ``hook`` of the first run."""

    def press(*given):
        os.kill(os.getpid(), number)

    def writes(*given):
        press()
        write_results(*given)

    def fails(*given):
        press()
        raise UserError("lr: this run fails.")

    if hook in ("first step", "last step"):
        at = 1 if hook == "first step" else 30
        trainer.how = {"progress": lambda step: step == at and press()}
    elif hook == "last evaluation":
        trainer.how = {"report": lambda row: row.step == 30 and press()}
    elif hook == "writing":
        patch.setattr(training_run, "write_results", writes)
    elif hook == "between runs":
        patch.setattr(Trainer, "ended", press)
    else:
        patch.setattr(training_run, "at_checkpoint", fails)


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("hook", HOOKS)
def test_a_signal_ends_a_job_wherever_it_comes(hook, width, trainer, monkeypatch):
    """No other run begins; what is finished is kept, and the same job trains the rest."""
    trainer.width = width
    for number in (signal.SIGINT, signal.SIGTERM):
        shutil.rmtree(RUNS, ignore_errors=True)
        handler = signal.getsignal(number)
        with monkeypatch.context() as patch:
            pressed(hook, number, trainer, patch)
            with pytest.raises(Stopped) as stopped:
                trainer.job()
        assert stopped.value.number == number
        assert signal.getsignal(number) is handler
        assert len(trainer.trained) <= (1 if width == 1 else len(SPECS))
        first, trainer.how = list(trainer.trained), {}
        assert [path.exists() for path in metrics(first)] == [True] * len(first)
        assert trainer.job()[1] == [spec for spec in SPECS if spec not in first]


def test_a_signal_ends_the_wait_for_another_process(trainer):
    folder = RUNS / SPECS[0].id
    folder.mkdir(parents=True)
    with ThreadPoolExecutor(1) as pool:  # in this thread, the lock would be ours
        held = pool.submit(try_lock, folder / ".lock").result()
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(Stopped):
        trainer.job(SPECS[:1])
    held.release()
    assert trainer.job(SPECS[:1])[1] == SPECS[:1]


def test_one_in_lockstep_fails_and_too_little_memory_halves_the_width(trainer, monkeypatch, caplog):
    trainer.width, trainer.failing = 4, SPECS[1:2]
    right = Stack.gradients

    def gradients(stack, batches):
        if stack.n > 2 * SPECS[0].workers:
            raise torch.OutOfMemoryError("on a card")
        return right(stack, batches)

    monkeypatch.setattr(Stack, "gradients", gradients)
    refused("lr: this run fails", trainer.job)
    assert trainer.trained == [SPECS[0], *SPECS[2:]]
    assert "4 runs together fail (on a card); now at most 2 train together" in caplog.messages
    monkeypatch.setattr(Stack, "gradients", lambda stack, batches: torch.ones(2) @ torch.ones(3))
    trainer.failing = ()
    trainer.job([tiny(seed=seed) for seed in (2, 3)])  # each alone
    assert "now at most 1 train together" in caplog.text
    assert not list(RUNS.rglob(".lock"))


def test_a_job_whose_file_was_changed_trains_nothing(trainer):
    file = trainer.job(SPECS[:1])[0].with_suffix(".json")
    key = hashed(file.read_text())
    file.write_text(file.read_text().replace("0", "1"))
    refused("^job: '.*' was changed after the job was", train_job, file, key, pytest.fail)


def test_the_first_steps_of_each_combination_find_an_undeclared_field(own_entries, tmp_path):
    """Also one that is read in the third step, on more workers than are tried."""
    mode = ngo.whole("what is read", 0, ngo.within(0, 3))

    @ngo.method("late", fields=("topology", "local_steps"), options={"mode": mode}, delay=0)
    def late(step):
        step.descend()
        if (step.t + 1) % step.run.local_steps == 0:
            step.network.mix(step.X)
            if step.run.mode == 2:
                step.X.mul_(step.run.gamma)

    runs = [tiny(method="late", workers=9, local_steps=3, mode=mode) for mode in (0, 1, 2)]
    try_combinations(runs[:2], tmp_path)
    refused("^method: 'late' uses the field 'gamma' of a run", try_combinations, runs, tmp_path)
