import pytest
import torch

from ngo.native import build
from ngo.native.relayed_sums import relayed_sums

pytestmark = pytest.mark.skipif(build.march() == "none", reason="NGO_MARCH=none")

# The tree 0 – 1, 1 – 2: the edges (0, 1), (1, 0), (1, 2), (2, 1), as (receiver, sender).
STARTS, SENDERS, TURNED = (torch.tensor(x) for x in ([0, 1, 3, 4], [1, 0, 2, 1], [1, 0, 3, 2]))


def test_sums_along_a_path_of_three():
    X = torch.tensor([[1.0], [10.0], [100.0]]).repeat(1, 700)
    received = torch.zeros(4, 701)
    received[:, :-1] = torch.tensor([[2.0], [3.0], [4.0], [5.0]])
    received[:, -1] = 9
    counts = torch.tensor([[2.0], [4.0], [8.0]])
    relayed_sums(X, received, STARTS, SENDERS, TURNED, counts)
    # 0 sends 1, 1 sends 10 + 4 to 0 and 10 + 3 to 2, 2 sends 100.
    sums = torch.tensor([[14.0], [1.0], [100.0], [13.0]])
    assert torch.equal(received[:, :-1], sums.expand(4, 700))
    assert (received[:, -1] == 9).all()
    means = torch.tensor([[15.0 / 2], [111.0 / 4], [113.0 / 8]])
    assert torch.equal(X, means.expand(3, 700))


def test_tensors_that_do_not_fit_are_refused():
    X, received, counts = torch.zeros(3, 5), torch.zeros(4, 6), torch.ones(3, 1)
    edges = STARTS, SENDERS, TURNED
    for arguments in (
        (X.double(), received, *edges, counts),
        (X, received[:, :5].contiguous(), *edges, counts),
        (X, received, STARTS[:3], SENDERS, TURNED, counts),
        (X, received, STARTS, SENDERS, TURNED[:2], counts),
        (X, received, *edges, counts[:2]),
    ):
        with pytest.raises(ValueError, match="must be a contiguous"):
            relayed_sums(*arguments)
