"""``fit``: its results, its callbacks, and that it changes nothing else."""

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
import torch
from cases import refused
from own_modules import DATA, Stochastic, equal, linear, quick, row, stop_at
from runs import CONVEX, trained
from torch import nn

import ngo
from ngo.common.registries import MODELS
from ngo.training.fit import fit
from ngo.training.spec_checks import resolve


def test_the_result_is_that_of_the_packages_own_run(least_squares):
    """Same values, data and initial parameters: the same metrics and models, bit by bit."""
    fields = {"workers": 4, "batch_size": 8, "epochs": 2.0, "eval_every": 0.5, "seed": 3}
    rows, population = trained(resolve({**CONVEX, **fields}), least_squares)
    d = least_squares
    train, test = ((d.train_inputs, d.train_targets), (d.test_inputs, d.test_targets))
    module = partial(MODELS["linear"].build, torch.Generator())
    run = fit(module, train, test, progress=False, **fields)
    assert torch.equal(population.X, torch.stack([row(model) for model in run.models]))
    for name in ("consensus_loss", "workers_loss_std", "train_loss", "V", "bytes_sent", "step"):
        expected = [getattr(each, name) for each in rows]
        assert run.metrics[name].tolist() == pytest.approx(expected, rel=0, abs=0, nan_ok=True)


def test_metrics_hold_every_field_and_models_are_independent_modules_of_the_users_class():
    run = quick(lr=0.2, batch_size=np.int64(4), p=np.float64(0.8))
    table = run.metrics
    assert table["step"].tolist() == [0, 2, 4]
    assert set(run.spec.values()) <= set(table.columns)
    assert (table["run"] == run.spec.id).all()
    assert (run.spec.lr, run.spec.p, run.spec.model) == (0.2, 0.8, "Linear")
    assert repr(run).startswith(f"Fit({run.spec.id}: 3 workers, step 4, consensus loss ")

    class Net(nn.Linear):
        pass

    run = quick(Net(3, 4))
    everyone = [run.consensus, *run.models]
    assert all(type(each) is Net and not each.training for each in everyone)
    assert len({each.weight.data_ptr() for each in everyone}) == 4
    before = run.models[1].weight.clone()
    run.models[0].weight.data.zero_()
    assert torch.equal(run.models[1].weight, before)
    accuracy = (run.consensus(DATA[0]).argmax(1) == DATA[1]).float().mean()
    assert float(accuracy) == pytest.approx(run.metrics["consensus_accuracy"].iloc[-1])


class Sampling(nn.Linear):
    def forward(self, x):  # in evaluation too
        return super().forward(x + torch.randn_like(x))


def test_equal_arguments_give_equal_results_with_draws_of_each_workers_stream():
    for module in (linear, nn.Sequential(nn.Dropout(), linear()), Stochastic(3, 4), Sampling(3, 4)):
        first = quick(module)
        torch.rand(1)
        assert equal(first, quick(module))
        assert equal(first, quick(module, threads=2, on_step=lambda state: torch.rand(3)))
        assert not equal(first, quick(module, seed=1))
    images = DATA[0].reshape(-1, 3, 1, 1), DATA[1]
    first = nn.Dropout2d(0.3), nn.Conv2d(3, 8, 1), nn.Flatten()
    module = nn.Sequential(*first, nn.Dropout(), nn.Linear(8, 4))
    runs = [quick(module, images, backend=name) for name in ("loop", "threads", "vmap")]
    assert torch.equal(*(run.models[0][1].weight for run in runs[:2]))
    assert torch.allclose(runs[0].models[2][4].weight, runs[2].models[2][4].weight, atol=1e-5)


def test_fits_in_threads_are_what_they_are_alone_and_nothing_global_changes():
    def module():
        first = nn.Linear(3, 8)
        time.sleep(0.02)  # another thread would draw here
        return nn.Sequential(first, nn.AlphaDropout(0.1), nn.Linear(8, 4))

    before = torch.get_rng_state()
    with ThreadPoolExecutor(3) as pool:
        runs = list(pool.map(lambda seed: quick(module, seed=seed), range(3)))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(equal(run, quick(module, seed=seed)) for seed, run in enumerate(runs))

    def settings():
        streams = torch.get_rng_state().tolist(), np.random.get_state()[1].tolist()
        return streams, torch.get_default_dtype(), torch.get_num_threads(), sys.getswitchinterval()

    before = settings()[1:]
    try:
        torch.set_default_dtype(torch.float64)
        torch.set_num_threads(2)
        sys.setswitchinterval(0.01)
        own = settings()
        quick(lambda: nn.Linear(3, 4))
        assert settings() == own
    finally:
        torch.set_default_dtype(before[0])
        torch.set_num_threads(before[1])
        sys.setswitchinterval(before[2])
    module = nn.Linear(3, 4).eval()
    values = {name: value.clone() for name, value in module.state_dict().items()}
    quick(module)
    assert not module.training
    assert module.weight.grad is None
    assert all(torch.equal(module.state_dict()[name], values[name]) for name in values)


def test_a_run_that_diverges_is_warned_of_in_a_line():
    with pytest.warns(RuntimeWarning) as caught:
        run = quick(nn.Linear(3, 3), (DATA[0],) * 2, lr=1e30, epochs=20)
    assert run.metrics["diverged"].iloc[-1]
    (warning,) = caught
    before, step = run.metrics["step"].iloc[-2:]
    assert str(warning.message) == (
        f"fit: the run diverged between steps {before} and {step}: a loss or a parameter is no "
        "longer finite, and it ended there; try a smaller lr or gamma (lr is 1e+30, gamma is 1)."
    )
    assert warning.filename.endswith("own_modules.py")


def test_callbacks_see_every_step_and_evaluation_as_long_as_they_run():
    steps, evaluations = [], []
    run = quick(on_step=steps.append, on_evaluation=evaluations.append)
    assert [state.step for state in steps] == [1, 2, 3, 4]
    assert [state.epoch for state in steps] == [0.25, 0.5, 0.75, 1]
    assert [state.metrics["V"] for state in evaluations] == run.metrics["V"].tolist()
    assert steps[0].metrics is None
    assert run.stopped is None
    states = []
    quick(on_step=states.append)
    refused("the run has gone on from step 1 to 4", states[0].consensus)
    with pytest.raises(ngo.UserError, match="worker: 7 is not a worker; they are 0 to 2"):
        quick(on_step=lambda state: state.worker(7))


@pytest.mark.parametrize("name", ["on_step", "on_evaluation"])
def test_a_callback_stops_the_run(name):
    run = quick(**{name: stop_at(2)})
    assert (run.stopped, run.metrics["step"].tolist()) == (name, [0, 2])
    assert quick(on_step=stop_at(3)).metrics["step"].tolist() == [0, 2, 3]
    for error in (ZeroDivisionError, SystemExit):
        with pytest.raises(error):
            quick(**{name: stop_at(2, error)})
