"""A transformer that sees only what comes before, and LoRA: frozen weights with thin factors."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional as F


class CausalAttention(nn.Module):
    """Attention of each position to itself and to those before, with several heads.

    It is written out: torch's fused attention has no second derivatives on a CPU.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.queries_keys_values = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """``[b, t, width]`` to the same shape."""
        t = x.shape[-2]
        heads = self.queries_keys_values(x).unflatten(-1, (3, self.heads, -1)).transpose(-4, -2)
        queries, keys, values = heads.unbind(-3)  # [b, heads, t, width / heads] each
        scores = queries @ keys.transpose(-1, -2) / math.sqrt(queries.shape[-1])
        later = torch.ones(t, t, dtype=torch.bool, device=x.device).triu(1)
        mixed = scores.masked_fill(later, -math.inf).softmax(-1) @ values
        return self.out(mixed.transpose(-3, -2).flatten(-2))


class Block(nn.Module):
    """Attention, then a layer of four times the width; each added to its normalised input."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = CausalAttention(width, heads)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """``[b, t, width]`` to the same shape."""
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    """Logits ``[b, t, characters]`` of the next character at each position of ``[b, t]``.

    The architecture of GPT-2 (Radford et al. 2019), with normalization before each part and learned
    positions, without dropout, and with a last layer that does not share the embedding. Initial
    parameters are torch's.
    """

    def __init__(self, characters: int, length: int, *, width: int, layers: int, heads: int):
        super().__init__()
        self.embedding = nn.Embedding(characters, width)
        self.positions = nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.logits = nn.Linear(width, characters)

    def forward(self, characters: torch.Tensor) -> torch.Tensor:
        """Whole numbers ``[b, t]`` to logits."""
        x = self.embedding(characters) + self.positions.weight[: characters.shape[-1]]
        return self.logits(self.norm(self.blocks(x)))


# The factor s of the product, α/r in the paper: 32/4, as for GPT-2 in its experiments.
SCALE = 8.0


class LoRALinear(nn.Module):
    """``x ↦ (W + s·BA) x + bias`` with factors A ``[rank, in]`` and B ``[out, rank]``.

    A starts as a weight of ``nn.Linear`` does, and B at 0, so that the layer starts as W alone.
    """

    def __init__(self, linear: nn.Linear, rank: int) -> None:
        super().__init__()
        self.weight, self.bias = linear.weight, linear.bias
        self.A = nn.Parameter(nn.Linear(linear.in_features, rank, bias=False).weight.detach())
        self.B = nn.Parameter(torch.zeros(linear.out_features, rank))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """``[…, in]`` to ``[…, out]``."""
        return F.linear(x, self.weight, self.bias) + SCALE * F.linear(F.linear(x, self.A), self.B)


def with_lora(module: nn.Module, rank: int) -> nn.Module:
    """The module, changed in place: factors for each linear layer inside it; the rest is frozen.

    Methods exchange the factors alone.
    """
    module.requires_grad_(False)
    for layer in list(module.modules()):
        for name, child in list(layer.named_children()):
            if isinstance(child, nn.Linear):
                setattr(layer, name, LoRALinear(child, rank))
    return module
