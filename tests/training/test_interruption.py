import importlib
import os
import random
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from own_modules import Dropping, Stochastic, equal, quick, stop_at, told
from torch.nn import functional as F

import ngo
from ngo.common.files import try_lock


def press_at(step, number=signal.SIGINT, then=None):
    """A callback that sends a signal, and then raises an error."""

    def callback(state):
        if state.step == step:
            os.kill(os.getpid(), number)
            if then is not None:
                raise then

    return callback


@pytest.mark.parametrize(
    ("name", "step", "steps"),
    [("on_evaluation", 0, [0]), ("on_step", 3, [0, 2, 3]), ("on_evaluation", 4, [0, 2, 4])],
)
def test_ctrl_c_raises_an_error_with_the_run_so_far(name, step, steps, tmp_path):
    before, module = signal.getsignal(signal.SIGINT), Stochastic(3, 4)
    for out in (None, tmp_path):
        line = f"fit: interrupted at step {step} of 4; .run has the result so far"
        with pytest.raises(ngo.Interrupted, match=line) as caught:
            quick(module, out=out, **{name: press_at(step)})
        run = caught.value.run
        assert isinstance(caught.value, KeyboardInterrupt)
        assert (run.stopped, run.metrics["step"].tolist()) == (None, steps)
        assert signal.getsignal(signal.SIGINT) is before
    assert equal(run, quick(module)) == (step == 4)
    seen = []
    assert equal(quick(module, out=tmp_path, on_step=seen.append), quick(module))
    assert [state.step for state in seen] == list(range(step + 1, 5))
    again = quick(module, out=tmp_path, on_step=pytest.fail)  # nothing is trained
    assert equal(again, quick(module))


def test_dropout_in_evaluation_is_the_same_after_a_restart(tmp_path):
    module = Dropping()
    quick(module, out=tmp_path, on_step=stop_at(3))
    assert equal(quick(module, out=tmp_path), quick(module, threads=2))


def test_ctrl_c_before_a_callback_ends_or_while_files_are_made_stays(monkeypatch, tmp_path):
    with pytest.raises(ngo.Interrupted) as caught:
        quick(on_step=press_at(3, then=StopIteration))
    assert caught.value.run.stopped == "on_step"
    with pytest.raises(KeyboardInterrupt) as caught:
        quick(on_step=press_at(3, then=ValueError("as of a process that had Ctrl-C, too")))
    assert isinstance(caught.value.__context__, ValueError)
    for name in ("ngo.training.checkpoint.write", "ngo.training.fit.as_columns"):
        module, _, attribute = name.rpartition(".")
        original = getattr(importlib.import_module(module), attribute)

        def pressed(*given, original=original):
            os.kill(os.getpid(), signal.SIGINT)
            return original(*given)

        with monkeypatch.context() as patch:
            patch.setattr(name, pressed)
            with pytest.raises(ngo.Interrupted):
                quick(out=tmp_path, on_step=stop_at(3))
    assert equal(quick(out=tmp_path), quick())


def clamped(out, y):
    """Equal to the cross entropy at the start."""
    return F.cross_entropy(out, y, reduction="none").clamp(min=0.01).mean()


def right(out, y):
    return out.argmax(1) == y


@pytest.mark.parametrize(
    ("key", "one", "other"),
    [("score", right, lambda out, y: ~right(out, y)), ("loss", F.cross_entropy, clamped)],
)
def test_a_run_with_another_loss_or_score_in_the_folder_is_refused(key, one, other, tmp_path):
    quick(out=tmp_path, on_step=stop_at(2), **{key: one})
    assert f"with {key}" in told(out=tmp_path, **{key: other})
    assert equal(quick(out=tmp_path, **{key: one}), quick(**{key: one}))
    line = told(out=tmp_path, **{key: other})  # the run has finished
    assert f"with {key}" in line
    assert line.endswith("; choose another folder, or delete this one.")


def test_a_run_with_another_method_of_the_same_name_is_refused(own_entries, tmp_path):
    def register(by):
        @ngo.method("own_method", fields=("topology",))
        def own_method(step):
            step.descend()
            step.X.mul_(by)

    register(1.0)
    quick(out=tmp_path, method="own_method", on_step=stop_at(2))
    register(0.5)
    assert "with code of method" in told(out=tmp_path, method="own_method")
    register(1.0)
    assert equal(quick(out=tmp_path, method="own_method"), quick(method="own_method"))


def test_global_draws_in_a_step_are_of_the_seed_and_the_step(own_entries, tmp_path):
    """They came from where the process was: resumed, or after another run, they were others."""

    @ngo.coupling("faint", whole=True)
    def faint(X, W, gamma, run, *, at, out, spread):
        return out.copy_(X + 0.1 * torch.randn_like(X))

    @ngo.method("noisy", fields=("topology", "gamma", "gamma_decay", "coupling"))
    def noisy(step):
        step.descend()
        step.X.mul_(1 + 0.1 * np.random.rand() + 0.1 * random.random())
        step.gossip()

    how = {"method": "noisy", "coupling": "faint"}
    quick(**how, out=tmp_path, on_step=stop_at(2))
    whole = quick(**how)
    assert equal(quick(**how, out=tmp_path), whole)
    assert not equal(quick(**how, seed=1), whole)


def test_what_cannot_be_compared_is_refused_only_with_a_folder(tmp_path):
    with open(__file__) as file:
        how = {"score": lambda out, y: out.argmax(1) == y + file.fileno() * 0}
        quick(**how)
        assert "score: it holds or reads a TextIOWrapper" in told(**how, out=tmp_path)


def test_of_two_fits_at_once_in_a_folder_the_second_says_that_it_waits(tmp_path):
    with ThreadPoolExecutor(1) as pool:  # in this thread, the wait would have no end
        held = pool.submit(try_lock, tmp_path / ".lock").result()
    threading.Timer(0.5, held.release).start()
    with pytest.warns(RuntimeWarning, match="fit: waiting for another run in"):
        quick(out=tmp_path)


def test_sigterm_leaves_a_checkpoint_and_goes_on_to_its_handler(tmp_path):
    handled = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: handled.append(number))
    try:
        with pytest.raises(ngo.Interrupted, match="interrupted at step 3"):
            quick(out=tmp_path, on_step=press_at(3, signal.SIGTERM))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert handled == [signal.SIGTERM]
    assert equal(quick(out=tmp_path), quick())


def test_a_field_that_changes_nothing_for_a_finished_run_finds_it(tmp_path):
    """Where no share is short, runs that may repeat samples and runs that may not are the same."""
    whole = quick(out=tmp_path)
    again = quick(out=tmp_path, short_share="repeat", on_step=pytest.fail)
    assert again.metrics["consensus_loss"].equals(whole.metrics["consensus_loss"])
    assert again.spec.short_share == "repeat"
