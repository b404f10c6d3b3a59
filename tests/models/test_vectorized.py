import pytest
import torch
from torch import nn
from torch.func import functional_call, vmap

from ngo.common.seeding import torch_stream
from ngo.models.layers import ConvPoolReLU2d, Dropout, draw, recorded, replayed


def module(worker=0):
    generator = torch_stream(0, "dropout", worker)
    return nn.Sequential(
        ConvPoolReLU2d(1, 2, 3), Dropout(generator, channels=True), nn.Flatten(), Dropout(generator)
    )


def test_draws_are_recorded_in_order_without_advancing_the_generator():
    model, untouched, x = module(), module(), torch.ones(4, 1, 8, 8)
    model.load_state_dict(untouched.state_dict())
    samples = []
    with recorded(model, samples):
        model(x)
    generator = torch_stream(0, "dropout", 0)
    assert [sample(generator).shape for sample in samples] == [(4, 2, 1, 1), (4, 18)]
    assert torch.equal(model(x), untouched(x))


def test_replayed_draws_give_what_the_generators_would_give():
    workers, x = [module(worker) for worker in (0, 1)], torch.rand(2, 4, 1, 8, 8)
    parameters = dict(workers[0].named_parameters())
    workers[1].load_state_dict(workers[0].state_dict())
    expected = torch.stack([worker(inputs) for worker, inputs in zip(workers, x, strict=True)])
    samples = []
    with recorded(workers[0], samples):
        workers[0](x[0])
    generators = [torch_stream(0, "dropout", worker) for worker in (0, 1)]
    noise = tuple(torch.stack([sample(g) for g in generators]) for sample in samples)

    def forward(inputs, noise):
        with replayed(workers[0], noise):
            return functional_call(workers[0], parameters, (inputs,))

    assert torch.allclose(vmap(forward)(x, noise), expected, atol=1e-6)


@pytest.mark.parametrize("block", [lambda m: recorded(m, []), lambda m: replayed(m, [])])
def test_the_module_is_as_before_after_the_block(block):
    model = module()

    def fails():
        with block(model):
            assert not model[0].compiled
            assert model[1].source is not draw
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails()
    assert model[0].compiled
    assert model[1].source is model[3].source is draw
