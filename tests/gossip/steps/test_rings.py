import torch
from weighted import naive_step, random_weights

from ngo.common.seeding import torch_stream
from ngo.gossip.phi import phi
from ngo.gossip.steps.rings import edge_rings, step_by_rings
from ngo.gossip.topologies.complete import complete
from ngo.gossip.weights import mixing_matrix
from ngo.native.pool import in_order


def test_edges_are_ordered_by_rings():
    """Every edge once, and no worker twice at the same side within a ring."""
    for n in (2, 3, 8, 9):
        for W in (mixing_matrix(complete(n)), random_weights(n, 0.4, n)):
            found = []
            for runs, weights in edge_rings(W.tolist()):
                sides = [], []
                for run in runs:
                    for side, part in zip(sides, (run.i, run.j), strict=True):
                        side += range(part.start, part.stop)
                assert all(len(set(side)) == len(side) == len(weights) for side in sides)
                for i, j, weight in zip(*sides, weights.tolist(), strict=True):
                    assert weight == W[i, j]
                    found.append(frozenset((i, j)))
            edges = W.triu(1).nonzero().tolist()
            assert sorted(map(sorted, found)) == sorted(edges)


def test_a_pull_may_overwrite_its_differences():
    X = torch.randn(7, 30, generator=torch_stream(0, "X"), dtype=torch.float64)
    W = random_weights(7, 0.6, 2)

    def kept(z, weights):
        return 0.3 * weights * phi(z, 0.8)

    def overwritten(z, weights):
        return z.copy_(kept(z, weights))

    new = [step_by_rings(X, W, pull, at=X, out=torch.empty_like(X), spread=in_order)
           for pull in (kept, overwritten)]  # fmt: skip
    assert torch.equal(*new)
    assert torch.allclose(new[0], naive_step(X, W, 0.3, 0.8), atol=1e-12)
