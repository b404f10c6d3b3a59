"""Short fits of small modules on made-up data."""

import pytest
import torch
from torch import nn

import ngo
from ngo.common.seeding import torch_stream

QUICK = {"workers": 3, "batch_size": 4, "epochs": 1, "eval_every": 0.5, "progress": False}


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
    with pytest.raises(ngo.UserError) as caught:
        quick(**arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def row(model):
    return torch.cat([each.detach().flatten() for each in model.parameters()])
