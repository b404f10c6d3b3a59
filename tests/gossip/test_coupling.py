from types import SimpleNamespace

import torch
from weighted import random_weights

from ngo.common.fields import above, number
from ngo.common.options import DECLARED
from ngo.common.seeding import torch_stream
from ngo.gossip.coupling import COUPLINGS, coupling

RUN = SimpleNamespace(p=0.8, limit=0.05)


def test_a_coupling_is_registered_by_its_pull_alone(own_entries):
    """Clipped differences, with a new option."""
    limit = number("largest pull", 1.0, above(0))

    @coupling("limited", fields=("p",), options={"limit": limit})
    def limited(z, weights, gamma, run):
        return gamma * weights * z.clamp_(-run.limit, run.limit)

    entry = COUPLINGS["limited"]
    assert entry.fields == ("p", "limit")
    assert DECLARED["limit"].owners == ("coupling",)
    X, Y = torch.randn(2, 6, 50, generator=torch_stream(0, "X"), dtype=torch.float64)
    W = random_weights(6, 0.5, 1)
    for at in (None, Y):
        seen = X if at is None else at
        expected = X.clone()
        for i in range(6):
            for j in range(6):
                if i != j:
                    expected[i] += 0.5 * W[i, j] * (seen[j] - seen[i]).clamp(-0.05, 0.05)
        new = entry.step(X, W, 0.5, RUN, at=at)
        assert torch.allclose(new, expected, atol=1e-14)
        assert torch.allclose(new.mean(0), X.mean(0), atol=1e-14)
        mine = X.clone()
        assert entry.step(mine, W, 0.5, RUN, at=at, out=mine) is mine
        assert torch.equal(mine, new)
