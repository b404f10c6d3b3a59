import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from own_modules import equal, linear, quick, stop_at, told
from torch import nn
from torch.nn import functional as F

import ngo
from ngo.common.files import try_lock


def right(out, y):
    return out.argmax(1) == y


class Drawing(nn.Linear):
    """Draws from torch's global random stream."""

    def forward(self, x):
        return super().forward(x + torch.randn_like(x) * self.training)


def test_ctrl_c_returns_the_partial_result():
    def press(state):
        if state.step == 3:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.warns(RuntimeWarning, match="fit: interrupted at step 3 of 4; the result is part"):
        run = quick(on_step=press)
    assert (run.stopped, run.metrics["step"].tolist()) == ("interrupt", [0, 2, 3])
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("module", [linear, Drawing(3, 4)])
@pytest.mark.parametrize("name", ["on_step", "on_evaluation"])
def test_a_stopped_run_resumes_to_the_same_result(tmp_path, module, name):
    part = quick(module, out=tmp_path, **{name: stop_at(2)})
    assert part.metrics["step"].tolist() == [0, 2]
    seen = []
    run = quick(module, out=tmp_path, on_step=seen.append)
    assert [state.step for state in seen] == [3, 4]
    assert equal(run, quick(module))
    assert equal(run, quick(module, out=tmp_path, on_step=stop_at(3)))  # nothing is trained


def clamped(out, y):
    """Equal to the cross entropy at the start."""
    return F.cross_entropy(out, y, reduction="none").clamp(min=0.01).mean()


@pytest.mark.parametrize(
    ("key", "one", "other"),
    [("score", right, lambda out, y: out.argmax(1) != y), ("loss", F.cross_entropy, clamped)],
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


def test_what_cannot_be_compared_is_refused_only_with_a_folder(tmp_path):
    with open(__file__) as file:

        def score(out, y):
            return out.argmax(1) == y + file.fileno() * 0

        quick(score=score)
        assert "score: it holds or reads a TextIOWrapper" in told(score=score, out=tmp_path)


def test_of_two_fits_at_once_in_a_folder_the_second_says_that_it_waits(tmp_path):
    with ThreadPoolExecutor(1) as pool:  # in this thread, the wait would have no end
        held = pool.submit(try_lock, tmp_path / ".lock").result()
    threading.Timer(0.5, held.release).start()
    with pytest.warns(RuntimeWarning, match="fit: waiting for another run in"):
        quick(out=tmp_path)


def test_a_second_ctrl_c_takes_effect_at_once(monkeypatch):
    monkeypatch.setattr("ngo.training.checkpoint.TOGETHER", 0)

    def press(state):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        quick(on_step=press)


def test_sigterm_leaves_a_checkpoint_and_goes_on_to_its_handler(tmp_path):
    def press(state):
        if state.step == 3:
            os.kill(os.getpid(), signal.SIGTERM)

    handled = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: handled.append(number))
    try:
        with pytest.warns(RuntimeWarning, match="interrupted at step 3"):
            quick(out=tmp_path, on_step=press)
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
