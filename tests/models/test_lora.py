import torch
from torch import nn

from ngo.common.seeding import torch_stream
from ngo.engine.population import Population
from ngo.models.transformer import SCALE, LoRALinear, with_lora


def seeded(make):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return make()


def test_a_layer_starts_as_the_frozen_one_and_adds_a_product():
    linear = seeded(lambda: nn.Linear(3, 2))
    layer, x = LoRALinear(linear, 1), torch.ones(4, 3)
    assert torch.equal(layer(x), linear(x))
    with torch.no_grad():
        layer.A.copy_(torch.tensor([[1.0, 2, 3]]))
        layer.B.copy_(torch.tensor([[1.0], [-1]]))
    assert torch.allclose(layer(x) - linear(x), SCALE * torch.tensor([6.0, -6]))


def test_factors_alone_are_parameters():
    """All other parameters are buffers of the same values and names."""

    def make():
        return nn.Sequential(nn.Embedding(5, 4), nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3)))

    plain, changed = seeded(make), seeded(lambda: with_lora(make(), rank=2))
    assert {n: list(p.shape) for n, p in changed.named_parameters()} == {
        "1.0.A": [2, 4],
        "1.0.B": [3, 2],
    }
    frozen = dict(changed.named_buffers())
    assert frozen.keys() == dict(plain.named_parameters()).keys()
    assert all(torch.equal(frozen[n], p) for n, p in plain.named_parameters())
    x = torch.tensor([[0, 4]])
    assert torch.equal(plain(x), changed(x))


def test_all_workers_have_the_same_frozen_weights():
    """Those of gpt_char_small, which they keep in training; also if factors are drawn by worker."""
    population = Population("gpt_char_lora", 3, seed=1, initialization="by_worker")
    assert (population.buffers == population.buffers[0]).all()
    assert not (population.X[0] == population.X).all()
    plain = Population("gpt_char_small", 1, seed=1)
    characters = torch.randint(0, 8, (2, 32), generator=torch_stream(0, "text"))
    with torch.no_grad():
        for module in population.modules:  # all factors B are 0
            assert torch.allclose(module(characters), plain.modules[0](characters), atol=1e-6)
