import math

import torch
from model_cases import build, samples
from torch.nn import functional as F


def test_toy_net_can_be_negative_and_fits_a_sine():
    model = build("toy_net")
    x = torch.linspace(-math.pi, math.pi, 64)[:, None]
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    for _ in range(300):
        optimizer.zero_grad()
        F.mse_loss(model(x), x.sin()).backward()
        optimizer.step()
    assert (model(x) - x.sin()).abs().max() < 0.2


def test_linear_is_a_product():
    model, x = build("linear"), samples("linear", 5)
    assert torch.allclose(model(x)[:, 0], x @ model.weight[0])
