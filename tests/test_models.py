import pytest
import torch
from torch import nn

from ngo.datasets import DATASETS
from ngo.layers import Dropout
from ngo.models import MODELS
from ngo.seeding import torch_stream
from ngo.tasks import TASKS


def test_mnist_cnn_is_the_supplements():
    model = MODELS["mnist_cnn"].build(torch_stream(0, "dropout", 0))
    assert [tuple(p.shape) for p in model.parameters()] == [
        (10, 1, 5, 5), (10,), (20, 10, 5, 5), (20,), (50, 320), (50,), (10, 50), (10,),
    ]  # fmt: skip
    assert sum(p.numel() for p in model.parameters()) == 21_840
    out = model.eval()(torch.randn(3, 1, 28, 28, generator=torch_stream(0, "x")))
    assert out.shape == (3, 10)
    assert torch.allclose(out.exp().sum(1), torch.ones(3))


@pytest.mark.parametrize("name", MODELS)
def test_every_model_serves_a_task_and_some_data_set(name):
    assert MODELS[name].task in TASKS
    assert MODELS[name].input_shape in {source.image_shape for source in DATASETS.values()}


def test_dropout_draws_from_its_own_generator():
    x = torch.ones(200, 50)
    first, again = (Dropout(torch_stream(0, "dropout", 1))(x) for _ in range(2))
    other = Dropout(torch_stream(0, "dropout", 2))(x)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert set(first.unique().tolist()) == {0, 2}  # kept entries make up for the dropped
    assert first.mean().item() == pytest.approx(1, abs=0.05)
    assert torch.equal(Dropout(torch_stream(0, "a")).eval()(x), x)


def test_dropout_of_channels_drops_whole_channels():
    x = torch.ones(8, 16, 5, 5)
    out = Dropout(torch_stream(0, "dropout", 1), channels=True)(x)
    assert (out == out[:, :, :1, :1]).all()
    assert {0, 2} == set(out.unique().tolist())


def test_dropouts_gradient_passes_where_it_kept():
    x = torch.ones(4, 10, requires_grad=True)
    out = nn.Sequential(Dropout(torch_stream(0, "dropout", 1), 0.25))(x)
    out.sum().backward()
    assert torch.equal(x.grad, out.detach())
