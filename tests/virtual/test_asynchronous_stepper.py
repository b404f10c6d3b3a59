import gc
import heapq
from dataclasses import replace

import numpy as np
import pytest
import torch
from cases import cases
from runs import CONVEX, digits_run, trained, without_clock

from ngo.common.seeding import numpy_stream, torch_stream
from ngo.data import loading
from ngo.engine.population import Population
from ngo.gossip.gossip_step import phi
from ngo.gossip.schedule import Mixing
from ngo.training.batches import Batches, BatchStream
from ngo.training.clocks import LINKS, SPEEDS
from ngo.training.learning_problem import make_problem
from ngo.virtual.asynchronous_stepper import AsynchronousStepper

RANDOM = {"clock": "asynchronous", "speed": "log_normal", "latency": 0.3}
PHASES = {"schedule": "phases", "second_phase": 0.4, "second_topology": "complete"}
PHASES |= {"second_gamma": 0.2}


class EventByEvent:
    """A run on links without queues, one event after another: slow. No two have the same time."""

    def __init__(self, spec, problem):
        self.spec, n = spec, spec.workers
        self.population = Population(problem.model, n, spec.seed, backend="loop")
        self.X = self.population.X.clone().numpy()
        own = [torch_stream(spec.seed, "batches", i) for i in range(n)]
        parts = zip(problem.parts, own, strict=True)
        streams = [BatchStream(part, spec.batch_size, stream) for part, stream in parts]
        self.batches = Batches(problem.task, problem.data, streams)
        self.W = self.dense(spec.topology)
        self.last = problem.last_step
        self.seconds, self.link = SPEEDS[spec.speed].of(spec), LINKS[spec.links].of(spec)
        self.partners = [numpy_stream(spec.seed, "partner", i) for i in range(n)]
        self.started = self.X.copy()
        # The models before local steps, and what an outer optimizer remembers.
        self.outer, self.before, self.m = self.X.copy(), self.X.copy(), 0 * self.X
        self.newest = [{} for _ in range(n)]  # (number, model) by sender
        self.w = np.ones(n)
        self.mass = [[] for _ in range(n)]  # (x, w) that has arrived
        self.steps, self.stale, self.ended = [0] * n, [], 0
        self.events, self.number = [], 0
        for i in range(n):
            self.post(self.seconds[i](0.0), self.end, i)

    def dense(self, topology):
        return Mixing(topology, self.spec.workers, self.spec).at(0).dense().numpy()

    def phase(self, i):
        """W and γ of worker i's step: two phases, of which the second has its own."""
        spec = self.spec
        if spec.schedule == "constant" or self.steps[i] < spec.second_phase * self.last:
            return self.W, spec.gamma
        return self.dense(spec.second_topology), spec.second_gamma

    def post(self, time, what, *arguments):
        self.number += 1
        heapq.heappush(self.events, (time, self.number, what, arguments))

    def run(self, steps):
        while self.ended < steps:
            self.now, _, what, arguments = heapq.heappop(self.events)
            what(*arguments)
        return self.X

    def end(self, i):
        """The gradient of worker i is there."""
        method = self.spec.method
        half = self.started[i] - self.spec.lr * self.gradient(i)
        if method == "ad_psgd":
            near = [j for j in range(len(self.X)) if j != i and self.W[i, j]]
            j = near[int(self.partners[i].random() * len(near))]
            self.post(self.now + self.link(i, j, self.now)[0], self.meet, i, j, half)
            return
        if method == "async_push_sum":
            self.push(i, half)
        elif (self.steps[i] + 1) % (self.spec.local_steps or 1) == 0:
            self.exchange(i, half)
        else:
            self.X[i] = half
        self.begin(i)

    def begin(self, i):
        self.steps[i] += 1
        self.ended += 1
        self.started[i] = self.X[i]
        self.post(self.now + self.seconds[i](self.now), self.end, i)

    def gradient(self, i):
        self.population.X[i] = torch.from_numpy(self.started[i])
        self.batches.workers = [i]
        self.population.gradients(self.batches)
        return self.population.G[i].numpy().copy()

    def send(self, i, what, *content):
        for j in np.flatnonzero(self.phase(i)[0][:, i]).tolist():
            if j != i:
                self.post(self.now + self.link(i, j, self.now)[0], what, j, i, *content)

    def arrive(self, j, i, number, model):
        self.newest[j][i] = number, model

    def pull(self, i, half):
        self.send(i, self.arrive, self.steps[i], half)
        new, (W, gamma) = half.copy(), self.phase(i)
        for j, (number, model) in self.newest[i].items():
            z = torch.from_numpy(model - half)
            new += gamma * W[i, j] * phi(z, self.spec.p).numpy()
            self.stale.append(max(0, self.steps[i] - number))
        self.X[i] = new

    def exchange(self, i, half):
        """A pull, and what an outer optimizer does before and after it."""
        spec, mu, x = self.spec, self.spec.outer_momentum, self.outer[i]
        if spec.method == "gasloc":
            y = x + spec.outer_lr * (half - x)
            self.pull(i, y)
            self.X[i] += mu * (y - self.before[i])
            self.before[i] = y
        else:
            self.pull(i, half)
        if spec.method in ("outer", "noloco"):
            drift = self.X[i] - x
            self.m[i] = mu * self.m[i] + drift
            along = drift + mu * self.m[i] if spec.outer_rule == "nesterov" else self.m[i]
            self.X[i] = x + spec.outer_lr * along
        self.outer[i] = self.X[i]

    def push(self, i, half):
        self.send(i, self.add, half * self.w[i], self.w[i])
        x, w = self.W[i, i] * self.w[i] * half, self.W[i, i] * self.w[i]
        for its, weight in self.mass[i]:
            x, w = x + its, w + weight
        self.mass[i], self.w[i], self.X[i] = [], w, x / w

    def add(self, j, i, x, w):
        self.mass[j].append((self.W[j, i] * x, self.W[j, i] * w))

    def meet(self, i, j, half):
        mean = (self.X[i] + self.X[j]) / 2
        self.X[j] = mean
        self.X[i] = mean + (half - self.started[i])
        self.begin(i)


def in_float64(spec, root):
    data = loading.load(spec.dataset, root)
    names = ("train_inputs", "train_targets", "test_inputs", "test_targets")
    return make_problem(spec, replace(data, **{n: getattr(data, n).double() for n in names}))


@cases(
    "method",
    {"method": "ngo", "p": 0.9, "gamma": 0.5},
    {"method": "gossip"},
    {"method": "dsgd", "topology": "star"},
    {"method": "local_sgd", "local_steps": 3},
    {"method": "ngo", "p": 0.9, "gamma": 0.5, **PHASES},
    {"method": "outer", "local_steps": 3, "p": 0.9, "gamma": 0.5},
    {"method": "noloco", "local_steps": 2, "outer_momentum": 0.5},
    {"method": "gasloc", "local_steps": 3, "gamma": 0.5, "outer_momentum": 0.5},
    {"method": "ad_psgd"},
    {"method": "async_push_sum", "topology": "directed_ring"},
    {"method": "ngo", "p": 0.9, "latency": 0.0},
    {"method": "ad_psgd", "latency": 2.5},
    {"method": "outer", "local_steps": 3, "latency": 2.5},
    ids=lambda fields: "-".join(map(str, fields.values())),
)
def test_batches_of_steps_equal_one_event_after_another(method, tmp_path):
    """In float64, over 50 steps of each of five workers on average."""
    spec = digits_run(**CONVEX, **RANDOM | method, workers=5, lr=0.02, epochs=50)
    torch.set_default_dtype(torch.float64)
    try:
        problem = in_float64(spec, tmp_path)
        expected = EventByEvent(spec, problem).run(250)
        stepper = AsynchronousStepper(spec, problem, [23, 50], backend="loop")
        while stepper.t < 50:
            stepper.advance()
        assert stepper.taken == 250
        assert stepper.population.X.numpy() == pytest.approx(expected, rel=1e-6, abs=1e-9)
    finally:
        torch.set_default_dtype(torch.float32)


def same_rows(rows):
    """Evaluations without what measures time."""
    return [row | {"virtual_seconds": 0, "joules": 0} for row in without_clock(rows)]


@cases(
    "fields",
    {},
    {"method": "dsgd", "topology": "random"},
    {"method": "gasloc", "local_steps": 3, "local_rule": "adamw", "lr": 0.001},
    {"method": "async_push_sum", "topology": "one_peer_exponential"},
    {"lr_schedule": "cosine", "gamma_decay": 0.5, "topology": "alternating_matching"},
    ids=str,
)
def test_equal_speeds_without_latency_are_the_run_without_time(digits, fields):
    fields = {"epochs": 0.4, **fields}
    without = trained(digits_run(workers=6, **fields), digits)
    timed = trained(digits_run(workers=6, clock="asynchronous", **fields), digits)
    assert torch.equal(without[1].X, timed[1].X)
    assert same_rows(without[0]) == same_rows(timed[0])
    assert [row.virtual_seconds for row in timed[0]] == [row.step for row in timed[0]]


def test_evaluations_follow_the_samples_of_all_workers_on_any_threads(digits):
    spec = digits_run(**RANDOM, slow_workers=1, slow_factor=8.0, joules_step=2.0, joules_byte=1e-6)
    rows, _ = trained(spec, digits)
    assert [row.step for row in rows] == [0, 11, 22]
    for row in rows:
        assert row.samples == row.step * 4 * 16  # no two steps end at one moment
        assert row.joules == pytest.approx(2 * row.samples / 16 + 1e-6 * row.bytes_sent)
    assert 0 < rows[1].virtual_seconds < rows[2].virtual_seconds < 22 * 8
    spec = digits_run(**RANDOM, workers=6)
    (rows, one), (again, two) = (trained(spec, digits, threads=k) for k in (1, 3))
    assert torch.equal(one.X, two.X)
    assert without_clock(rows) == without_clock(again)


def test_a_worker_that_leaves_for_good_keeps_its_model(digits, tmp_path):
    path = tmp_path / "churn.csv"
    path.write_text("time,worker,event\n0,2,leaves\n")
    spec = digits_run(clock="asynchronous", churn="churn_trace", churn_file=str(path))
    rows, population = trained(spec, digits)
    problem = make_problem(spec, digits)
    assert torch.equal(population.X[2], AsynchronousStepper(spec, problem, [1]).population.X[2])
    assert rows[-1].virtual_seconds == pytest.approx(22 * 4 / 3, abs=1)
    assert rows[-1].messages < 22 * 8


def test_garbage_is_collected_again_whatever_happens(digits, monkeypatch):
    spec = digits_run(clock="asynchronous")
    stepper = AsynchronousStepper(spec, make_problem(spec, digits), [15])

    def interrupted(until):
        assert not gc.isenabled()
        raise KeyboardInterrupt

    monkeypatch.setattr(stepper._simulation, "window", interrupted)
    with pytest.raises(KeyboardInterrupt):
        stepper.advance()
    assert gc.isenabled()
