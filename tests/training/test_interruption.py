import os
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from own_modules import equal, linear, quick, stop_at, told
from torch import nn


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


def test_another_run_in_the_folder_is_refused(tmp_path):
    quick(out=tmp_path)
    text = told(out=tmp_path, lr=0.7)
    assert "with lr 0.05 and not 0.7; choose another folder, or delete this one." in text
    assert "with loss" in told(out=tmp_path, loss=lambda out, y: out.square().mean())


def test_a_finished_run_that_is_asked_for_more_epochs_says_why_it_cannot_go_on(tmp_path):
    quick(out=tmp_path, epochs=2)
    line = told(out=tmp_path, epochs=4)
    assert "holds a checkpoint of the run own-" in line
    assert "with epochs 2.0 and not 4.0 (a run can't be made longer or shorter: " in line
    assert line.endswith("choose another folder, or delete this one.")


def test_a_second_ctrl_c_takes_effect_at_once(monkeypatch):
    monkeypatch.setattr("ngo.training.interruption.TOGETHER", 0)

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


def test_fit_runs_in_a_thread_too():
    with ThreadPoolExecutor(1) as pool:
        assert equal(pool.submit(quick).result(), quick())
