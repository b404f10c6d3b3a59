"""CHOCO-SGD: equal to its slow reference; gossip without compression; where compression leads."""

import by_worker
import numpy as np
import pytest
import torch
from stepping import Stepping, ring_matrix, states
from test_drift_corrections import LR, grad, trained

from ngo.common.seeding import torch_stream
from ngo.gossip.compression import COMPRESSIONS
from ngo.gossip.consensus_dynamics import synchronization_index
from ngo.gossip.mixing_matrix import mixing_matrix
from ngo.gossip.topologies.static import complete, ring

KEPT = {"kept_share": 0.5}
OPTIONS = {**KEPT, "levels": 5}


def reference_of(name):
    """C(i, z), as in its paper; random codecs draw like the codec of worker i alone."""
    exact = {"none": lambda z: z, "top_k": lambda z: by_worker.top(z, 2), "sign": by_worker.signs}
    if name in exact:
        return lambda i, z: exact[name](z)
    run = Stepping("choco", torch.zeros(1, by_worker.D), **OPTIONS).run
    codecs = [
        COMPRESSIONS[name].codec(
            by_worker.D, torch.float64, run, [torch_stream(0, "compression", i)]
        )
        for i in range(by_worker.N)
    ]
    return lambda i, z: codecs[i].decode(codecs[i].encode(torch.tensor(z)[None]))[0].numpy()


@pytest.mark.parametrize(("graph", "p"), [(ring, 0.9), (complete, 1.0)])
@pytest.mark.parametrize("name", sorted(COMPRESSIONS))
def test_it_is_its_reference(name, graph, p):
    W = mixing_matrix(graph(by_worker.N))
    actual = trained("choco", W, 50, lr=LR, gamma=0.3, p=p, compression=name, **OPTIONS)
    expected = by_worker.choco(W.numpy(), grad, 50, LR, 0.3, p, reference_of(name))
    assert np.allclose(actual, np.stack(list(expected.values())), rtol=0, atol=1e-6)


@pytest.mark.parametrize("coupling", ["power", "capped"])
def test_without_compression_it_is_gossip(coupling):
    X, G = states()
    how = {"coupling": coupling, "cap": 1.0, "p": 0.8}
    choco, ngo = (Stepping(name, X, ring_matrix(), **how) for name in ("choco", "ngo"))
    for _ in range(20):
        assert choco.advance(G) == ngo.advance(G)
    assert torch.allclose(choco.X, ngo.X, rtol=0, atol=1e-12)
    assert choco.network.bytes_sent == ngo.network.bytes_sent


@pytest.mark.parametrize("name", sorted(COMPRESSIONS))
def test_the_mean_is_conserved_and_the_workers_agree(name):
    """Without gradients: theorem 2 of Koloskova et al. 2019, with any contraction."""
    X, _ = states()
    stepping = Stepping("choco", X, ring_matrix(), compression=name, gamma=0.4, p=1.0, **OPTIONS)
    for _ in range(150):
        stepping.advance()
    assert torch.allclose(stepping.X.mean(0), X.mean(0), atol=1e-12)
    assert synchronization_index(stepping.X) < 1e-4 * synchronization_index(X)
