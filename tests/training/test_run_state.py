import numpy as np
import pytest
import torch
from own_modules import equal, quick, stop_at, told
from test_fit import Stochastic

import ngo


def test_callbacks_see_every_step_and_evaluation():
    steps, evaluations = [], []
    run = quick(on_step=steps.append, on_evaluation=evaluations.append)
    assert [state.step for state in steps] == [1, 2, 3, 4]
    assert [state.epoch for state in steps] == [0.25, 0.5, 0.75, 1]
    assert [state.metrics["V"] for state in evaluations] == run.metrics["V"].tolist()
    assert steps[0].metrics is None
    assert run.stopped is None


def test_a_callback_has_a_copy_of_the_metrics():
    run = quick(on_evaluation=lambda state: state.metrics.update(mine=1.0, V=0.0))
    assert "mine" not in run.metrics
    assert run.metrics["V"].iloc[-1] > 0


def test_models_are_copied_when_asked_for():
    seen = []

    def look(state):
        seen.append((state.consensus(), state.worker(1), state.V, state.train_loss))

    run = quick(on_evaluation=look)
    consensus, worker, V, loss = seen[-1]
    assert torch.equal(consensus.weight, run.consensus.weight)
    assert torch.equal(worker.weight, run.models[1].weight)
    assert run.metrics["V"].iloc[-1] == V
    assert np.isfinite(loss)
    assert np.isnan(seen[0][3])
    assert not torch.equal(seen[0][0].weight, consensus.weight)


def test_a_state_is_over_when_its_callback_has_returned():
    states = []
    quick(on_step=states.append)
    with pytest.raises(ngo.UserError, match="the run has gone on from step 1 to 4"):
        states[0].consensus()
    with pytest.raises(ngo.UserError, match="worker: 7 is not a worker; they are 0 to 2"):
        quick(on_step=lambda state: state.worker(7))


@pytest.mark.parametrize("name", ["on_step", "on_evaluation"])
def test_a_callback_stops_the_run(name):
    run = quick(**{name: stop_at(2)})
    assert (run.stopped, run.metrics["step"].tolist()) == (name, [0, 2])
    assert quick(on_step=stop_at(3)).metrics["step"].tolist() == [0, 2, 3]
    with pytest.raises(ZeroDivisionError):
        quick(**{name: stop_at(2, ZeroDivisionError)})


def test_a_callbacks_draws_change_no_result():
    def draws(state):
        torch.rand(3)

    module = Stochastic(3, 4)
    assert equal(quick(module), quick(module, on_step=draws))


def test_a_callback_is_a_function():
    assert "on_step: 3 is not a function; for example on_step=lambda" in told(on_step=3)
