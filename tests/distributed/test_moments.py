import pytest
import torch

from ngo.common.seeding import torch_stream
from ngo.distributed.moments import joint_moments, moments
from ngo.gossip.consensus import synchronization_index


def test_moments_of_parts_are_those_of_the_whole():
    X = torch.randn(7, 11, generator=torch_stream(0, "X")) + 100
    mean, V = joint_moments((len(part), *moments(part)) for part in X.split([1, 4, 2]))
    assert torch.allclose(mean, X.double().mean(0))
    assert float(V) == pytest.approx(float(synchronization_index(X)), rel=1e-12)
    assert joint_moments((2, *moments(X[:1].expand(2, -1))) for _ in range(3))[1] == 0
