"""γ, V_th and the graph change during a run as its schedule says."""

from dataclasses import replace

import by_worker
import numpy as np
import pytest
import torch
from runs import CONVEX, digits_run

from ngo.common.fields import number, within
from ngo.common.seeding import torch_stream
from ngo.engine.population import Population
from ngo.gossip.consensus_dynamics import synchronization_index
from ngo.gossip.schedule import SCHEDULES, schedule, scheduled
from ngo.gossip.topology import TOPOLOGIES
from ngo.training.batches import Batches, BatchStream
from ngo.training.learning_problem import make_problem
from ngo.training.spec_checks import resolve
from ngo.training.stepper import Stepper
from verdicts.registry import UserError

N, STEPS, LR = 5, 50, 0.02
THREE = {"schedule": "phases", "second_phase": 0.4, "third_phase": 0.7}


def run_of(**values):
    return digits_run(**{**CONVEX, "lr": LR, "gamma": 0.5, "workers": N, **values})


def made(data, **values):
    spec = run_of(**values)
    return Stepper(spec, make_problem(spec, data), steps=STEPS, threads=1)


@pytest.fixture
def float64(least_squares):
    """The data in float64, as long as the test lasts."""
    torch.set_default_dtype(torch.float64)
    names = ("train_inputs", "train_targets", "test_inputs", "test_targets")
    yield replace(least_squares, **{name: getattr(least_squares, name).double() for name in names})
    torch.set_default_dtype(torch.float32)


def worker_by_worker(spec, problem, phases):
    """Gossip in NumPy; ``phases`` has (first step, W, γ), the last first."""
    population = Population(problem.model, N, spec.seed, backend="loop")
    streams = [
        BatchStream(part, spec.batch_size, torch_stream(spec.seed, "batches", i))
        for i, part in enumerate(problem.parts)
    ]
    batches = Batches(problem.task, problem.data, streams)
    x = dict(enumerate(population.X.numpy().copy()))
    for t in range(STEPS):
        population.X.copy_(torch.from_numpy(np.stack(list(x.values()))))
        population.gradients(batches)
        half = {i: x[i] - LR * population.G[i].numpy() for i in x}
        W, gamma = next((W, gamma) for first, W, gamma in phases if t >= first)
        x = by_worker.pulled(W, half, gamma, spec.p)
    return np.stack(list(x.values()))


def dense(name):
    return TOPOLOGIES[name].matrix(N).dense().numpy()


@pytest.mark.parametrize("method", [{"method": "gossip"}, {"method": "ngo", "p": 0.8}])
def test_three_phases_are_those_of_a_slow_reference(method, float64):
    given = {"second_topology": "complete", "second_gamma": 0.9, "third_gamma": 0.1}
    stepper = made(float64, **method, **THREE, **given, backend="loop")
    for _ in range(STEPS):
        stepper.advance()
    ring = dense("ring")
    phases = [(35, ring, 0.1), (20, dense("complete"), 0.9), (0, ring, 0.5)]
    spec = stepper._spec
    expected = worker_by_worker(spec, make_problem(spec, float64), phases)
    assert np.allclose(stepper.population.X.numpy(), expected, rtol=0, atol=1e-6)
    constant = worker_by_worker(spec, make_problem(spec, float64), [(0, ring, 0.5)])
    assert np.abs(expected - constant).max() > 1e-3


def test_v_is_held_at_the_level_of_each_phase(least_squares):
    """Linear gossip on the complete graph averages exactly, where V_th is small enough."""
    levels = {"v_threshold": 0.05, "second_v_threshold": 1e-8, "third_v_threshold": 0.01}
    stepper = made(least_squares, method="gossip_until", gamma=1.0, lr=0.1, **THREE, **levels)
    actual = []
    for _ in range(STEPS):
        stepper.advance()
        actual.append(float(synchronization_index(stepper.population.X)))
    of_phases = actual[:20], actual[20:35], actual[35:]
    for V, level in zip(of_phases, levels.values(), strict=True):
        assert max(V) <= level
    assert max(of_phases[0]) > 0.01
    assert max(of_phases[2]) > 1e-4


def test_nothing_is_sent_outside_of_a_window(least_squares):
    """On the graph without edges each worker trains alone; three phases are a window."""
    stepper = made(least_squares, topology="empty", method="dsgd", **THREE, second_topology="ring")
    alone = made(least_squares, topology="empty", method="dsgd")
    sent = []
    for t in range(STEPS):
        before = stepper.network.messages
        stepper.advance()
        sent.append(stepper.network.messages - before)
        alone.advance()
        assert torch.equal(stepper.population.X, alone.population.X) == (t < 20)
    assert sent == [0] * 20 + [2 * N] * 15 + [0] * 15
    assert alone.network.messages == 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "schedule: 'phases' changes nothing"),
        ({"second_gamma": 0}, "second_gamma: 0 is out of range"),
        ({"third_gamma": 0.1}, "third_gamma: there is no third phase"),
        ({"third_phase": 0.2, "second_gamma": 1}, "third_phase: 0.2 is before the second phase"),
        ({"second_v_threshold": 1}, "second_v_threshold: 1.0 has no effect with method 'gossip'; "
                                    "v_threshold is read with method gossip_until"),
        ({"second_topology": "rign"}, "second_topology: 'rign' is unknown; .* mean 'ring'"),
        ({"second_topology": "directed_ring"}, "topology: 'directed_ring' is directed"),
        ({"second_topology": "star", "method": "choco"}, "schedule: 'phases' changes the graph to "
                                                         "'star', and method 'choco' builds on"),
        ({"second_topology": "star", "topology": "random_matching", "method": "ngo",
          "coupling": "implicit"}, "coupling: 'implicit' needs at most one .* topology 'star'"),
        ({"schedule": "constant", "second_gamma": 1}, "second_gamma: 1.0 has no effect with "
                                                      "schedule 'constant'; .* schedule phases"),
        ({"method": "centralized", "second_gamma": 1}, "schedule: 'phases' has no effect"),
    ],
)  # fmt: skip
def test_phases_that_cannot_be(given, message):
    with pytest.raises(UserError, match=f"^{message}[^\n]*$"):
        resolve({"method": "gossip", "schedule": "phases", **given})


def test_a_schedule_is_registered_by_its_name_with_options(own_entries):
    @schedule("falling", options={"last_share": number("share of γ at the end", 0.5, within(0, 1))})
    def falling(share, run):
        return {"gamma": run.gamma * (1 - share * (1 - run.last_share))}

    assert SCHEDULES["falling"].values is falling
    assert SCHEDULES["falling"].graphs == ()
    spec = resolve({"method": "gossip", "schedule": "falling", "gamma": 0.8})
    assert [scheduled(spec, t, 2)["gamma"] for t in (0, 1)] == [0.8, pytest.approx(0.6)]
