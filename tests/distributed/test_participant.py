from functools import partial

import pytest
import torch
from participants import (
    SUMS,
    at_step,
    convex_spec,
    distributed,
    end,
    freeze,
    in_evaluation,
    simulated,
    spec_of,
    stderr_to,
    surroundings,  # noqa: F401
)

from ngo.common.registry import UserError
from ngo.data import loading
from ngo.engine.population import Population
from ngo.gossip.consensus_dynamics import synchronization_index
from ngo.gossip.mixing_matrix import metropolis_hastings, without_workers
from ngo.gossip.topology import Mixing
from ngo.training.problem import make_problem
from ngo.training.stepper import Stepper


def after_a_loss(spec, problem, lost, step):
    """The remaining rows of a run on a complete graph that loses a worker before the gradient of
    ``step``: no worker exchanges anything in that step.
    """
    n = spec.workers
    stepper = Stepper(spec, problem, steps=spec.steps(problem.owned))
    W = Mixing(spec.topology, n, spec).at(0).dense()
    smaller = without_workers(W, {lost}, metropolis_hastings)
    set_matrix = stepper.network.set_matrix

    def matrix_of_the_step(_):
        t = stepper.t - 1
        set_matrix(W if t < step else smaller if t > step else torch.eye(n, dtype=W.dtype))

    stepper.network.set_matrix = matrix_of_the_step
    for _ in range(stepper.steps):
        stepper.advance()
    return stepper.population.X[[i for i in range(n) if i != lost]]


def test_the_remaining_processes_continue_with_new_weights(tmp_path):
    """After the loss of the leader."""
    spec = spec_of(workers=4, topology="complete")
    lost, step = 0, 7
    scenario = partial(stderr_to, tmp_path / "errors", partial(at_step, step, lost, end))
    ours, facts, how = distributed(spec, 4, tmp_path, scenario, on_failure="drop")
    warning = f"process {lost} (worker {lost}) was killed by SIGKILL: continuing without it"
    assert (tmp_path / "errors").read_text().splitlines() == [warning]
    problem = make_problem(spec, loading.load("digits", tmp_path))
    X = after_a_loss(spec, problem, lost, step)
    assert ours["V"][-1] == pytest.approx(float(synchronization_index(X)), rel=1e-4)
    model = Population(spec.model, 1, spec.seed)
    model.X.copy_(X.mean(0, keepdim=True))
    expected = model.evaluate(*problem.test).consensus_loss
    assert ours["consensus_loss"][-1] == pytest.approx(expected, rel=1e-4)
    # The rows before, also those of a lost leader, are those of the simulated run.
    theirs = simulated(spec, tmp_path)
    assert ours["step"].tolist() == theirs["step"].tolist()
    assert ours["V"][1] == pytest.approx(theirs["V"][1], rel=1e-4)
    assert theirs["step"][1] < step < theirs["step"][2]
    assert how["lost"] == [
        {"process": lost, "workers": [lost], "step": step + 1, "how": "was killed by SIGKILL"}
    ]
    assert facts["run"] == spec.id + "-lost1"
    # 12 models per step, then 6 among three workers. The interrupted step is not counted, nor what
    # the lost worker sent after its last report.
    since = ours["step"][-1] - ours["step"][-2]
    assert ours["messages"][-1] - ours["messages"][-2] == 6 * since
    unreported = 3 * (step - ours["step"][1])
    assert ours["messages"][-1] == 12 * step - unreported + 6 * (ours["step"][-1] - step - 1)
    assert (ours["bytes_sent"] == ours["messages"] * 4 * X.shape[1]).all()
    assert ours["samples"][-1] - ours["samples"][-2] == 3 * 16 * since


@pytest.mark.parametrize(
    ("lr", "process", "sums"),
    [(0.02, 1, 0), (0.02, 0, SUMS), (1e30, 0, 1)],
)
def test_a_loss_in_the_last_evaluation_ends_no_run(lr, process, sums, tmp_path):
    spec = convex_spec(workers=3, lr=lr, epochs=0.08, eval_every=0.03)
    steps = [0, 4, 8, 11] if lr < 1 else [0, 4]
    scenario = partial(in_evaluation, steps[-1], process, sums)
    ours, _, how = distributed(spec, 3, tmp_path, scenario, on_failure="drop")
    assert ours["step"].tolist() == steps
    assert ours["diverged"].tolist() == [False] * (len(steps) - 1) + [lr > 1]
    *before, reports = [row["processes"] for row in how["evaluations"]]
    assert before == [3] * (len(steps) - 1)
    assert reports == 2 or (reports == 3 and sums == SUMS)
    last = steps[-1] - steps[-2]
    assert ours["samples"][-1] == 3 * 16 * steps[-2] + reports * 16 * last
    lost = [(entry["process"], entry["step"]) for entry in how["lost"]]
    # The leader may write before it notices the loss of another.
    assert lost == [(process, steps[-1])] or (process, sums, lost) == (1, SUMS, [])


def test_a_lost_process_stops_the_others(tmp_path):
    with pytest.raises(UserError) as error:
        distributed(spec_of(workers=4), 4, tmp_path, partial(at_step, 5, 2, end))
    assert "process 2 (worker 2) was killed by SIGKILL" in str(error.value)
    assert "--on-failure drop" in str(error.value)
    assert "\n" not in str(error.value)
    assert not list((tmp_path / "distributed").iterdir())


def test_a_silent_process_is_dropped(tmp_path):
    scenario = partial(at_step, 5, 1, freeze)
    _, _, how = distributed(
        convex_spec(workers=3), 3, tmp_path, scenario, timeout=2.5, on_failure="drop"
    )
    assert [(entry["process"], entry["how"]) for entry in how["lost"]] == [(1, "does not answer")]
    assert how["evaluations"][-1]["processes"] == 2
