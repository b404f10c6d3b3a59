"""The side of this package: its training step, on the problem's samples."""

import numpy as np
import torch
from side import Problem, answer
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits

from ngo.data.dataset import Dataset, Source
from ngo.models.model import Model
from ngo.models.task import Task, normalised_batch
from ngo.training.learning_problem import make_problem
from ngo.training.stepper import Stepper
from ngo.training.validation import resolve


def half_squares(outputs, targets):
    """½(a·x − b)² of each sample."""
    return (outputs - targets).square().squeeze(1) / 2


def logistic(outputs, targets):
    """log(1 + exp(a·x)) − b a·x of each sample."""
    return binary_cross_entropy_with_logits(outputs, targets, reduction="none").squeeze(1)


LOSSES = {"least_squares": half_squares, "logistic": logistic}


def prepare(problem: Problem, **fields):
    """``fields`` are those of a run."""
    torch.set_num_threads(1)
    n, m, d = problem.A.shape
    model = Model(lambda generator: nn.Linear(d, 1, bias=False), (d,), "regression")
    given = {"dataset": "bench", "model": "own", "task": "regression", "batch_size": m}
    given |= {"workers": n, "topology": problem.topology, "lr": problem.lr, **fields}
    source = Source(None, None, n * m, (d,), None)
    spec = resolve({**given, "epochs": 1.0}, source=source, model=model)
    inputs = torch.from_numpy(problem.A).reshape(n * m, d)
    targets = torch.from_numpy(problem.b).reshape(n * m, 1)
    data = Dataset("bench", None, inputs, targets, inputs[:1], targets[:1], None, None)
    task = Task(normalised_batch, LOSSES[problem.loss], labelled=False)
    parts = np.array_split(np.arange(n * m), n)
    made = make_problem(spec, data, parts, model=model, task=task)

    def run(note=lambda X: None) -> None:
        stepper = Stepper(spec, made, steps=problem.steps, threads=1)
        stepper.population.X.copy_(torch.from_numpy(problem.X0))
        for _ in range(problem.steps):
            stepper.advance()
            note(stepper.population.X)

    def states() -> np.ndarray:
        found = [problem.X0]
        run(lambda X: found.append(X.numpy().copy()))
        return np.stack(found)

    return states, run


if __name__ == "__main__":
    answer(prepare)
