"""Asynchronous runs, one event after another: slow, and written for no speed at all."""

import heapq

import numpy as np
import torch

from ngo.common.seeding import numpy_stream, torch_stream
from ngo.engine.population import Population
from ngo.gossip.gossip_step import phi
from ngo.gossip.topology import Mixing
from ngo.training.batches import Batches, BatchStream
from ngo.training.clocks import LINKS, SPEEDS


class EventByEvent:
    """A run on links without queues. Two events never have the same time."""

    def __init__(self, spec, problem):
        self.spec, n = spec, spec.workers
        self.population = Population(problem.model, n, spec.seed, backend="loop")
        self.X = self.population.X.clone().numpy()
        self.batches = Batches(
            problem.task,
            problem.data,
            [
                BatchStream(part, spec.batch_size, torch_stream(spec.seed, "batches", i))
                for i, part in enumerate(problem.parts)
            ],
        )
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
