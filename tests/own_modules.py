"""Short fits of small modules on made-up data."""

from contextlib import contextmanager

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

import ngo
from ngo.common.seeding import torch_stream
from ngo.training.fit_inputs import dataset_of, model_of, task_of, template

QUICK = {"workers": 3, "batch_size": 4, "epochs": 1, "eval_every": 0.5}
QUICK |= {"progress": False, "threads": 1}


def blobs(m=48):
    """Four classes of points in three dimensions."""
    generator = torch_stream(0, "test")
    y = torch.randint(0, 4, (m,), generator=generator)
    y[:4] = torch.arange(4)
    return torch.randn(m, 3, generator=generator) + 2 * torch.eye(4)[y, :3], y


DATA = blobs()


def quick(module=None, train=DATA, test=None, **fields):
    """Train for an epoch of 4 steps."""
    return ngo.fit(module or linear, train, test or train, **{**QUICK, **fields})


def linear():
    return nn.Linear(3, 4)


def metrics(run):
    return run.metrics.drop(columns="seconds")


def parameters(run):
    return [model.state_dict() for model in (run.consensus, *run.models)]


def equal(one, other):
    """Whether two runs have the same metrics and models."""
    return metrics(one).equals(metrics(other)) and all(
        all(torch.equal(a[name], b[name]) for name in a)
        for a, b in zip(parameters(one), parameters(other), strict=True)
    )


def told(**arguments):
    """The line of the UserError that these arguments raise."""
    with line() as caught:
        quick(**arguments)
    return str(caught.value)


def stop_at(step, error=StopIteration):
    def callback(state):
        if state.step == step:
            raise error

    return callback


def row(model):
    return torch.cat([each.detach().flatten() for each in model.parameters()])


class Stochastic(nn.Linear):
    def forward(self, x):
        return super().forward(F.dropout(x, 0.5, self.training))


class Dropping(nn.Linear):
    """Its dropout goes on in evaluation."""

    def __init__(self):
        super().__init__(3, 4)
        self.dropout = nn.Dropout()

    def forward(self, x):
        return super().forward(self.dropout.train()(x))


class Checkpointed(nn.Module):
    """Its hidden layer, with dropout, is computed again in the backward pass."""

    def __init__(self, reentrant=False):
        super().__init__()
        self.first, self.last = nn.Linear(3, 20), nn.Linear(20, 4)
        self.drop, self.reentrant = nn.Dropout(), reentrant

    def hidden(self, x):
        return F.dropout(self.drop(self.first(x).relu()), 0.2, self.training)

    def forward(self, x):
        x = x.clone().requires_grad_()
        return self.last(checkpoint(self.hidden, x, use_reentrant=self.reentrant))


class Replaced(nn.Linear):
    """Its buffer is a new tensor after each batch, and no view of the workers' buffers."""

    def __init__(self):
        super().__init__(3, 4)
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x):
        if self.training:
            self.seen = 0.9 * self.seen + x.detach().mean(0)
        return super().forward(x)


X, CLASSES = torch.arange(24.0).reshape(8, 3), torch.arange(8) % 4
PAIR = (X, CLASSES)


def numbers(*shape):
    return X, torch.randn(8, *shape)


def prepared(module, pair=PAIR, loss=None):
    """A data set, and the model and the task for it."""
    data, _ = dataset_of(pair, pair, "cpu", loss is not None)
    name, task = task_of(data, loss)
    return model_of(template(module, 0), data, name), data, task


@contextmanager
def line(*parts):
    """Expect a UserError of one line with these parts."""
    with pytest.raises(ngo.UserError) as caught:
        yield caught
    text = str(caught.value)
    assert "\n" not in text
    assert [part for part in parts if part not in text] == [], text
