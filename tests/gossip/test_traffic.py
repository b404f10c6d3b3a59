import pytest
import torch
from stepping import Stepping, fields, ring_matrix

from ngo.gossip.compression import COMPRESSIONS
from ngo.gossip.method import METHODS, NUMBERS, sent
from ngo.gossip.mixing_matrix import mixing_matrix
from ngo.gossip.topologies.static import chain

N, D = 5, 23
OPTIONS = {"kept_share": 0.1, "levels": 5, "exchange_probability": 1.0}


def counted(method, steps, **values):
    """The messages and their bytes, on each edge in a step."""
    W = mixing_matrix(chain(N)) if METHODS[method].graph == "tree" else ring_matrix(N)
    edges = 2 * N if not METHODS[method].decentralized else int((W != 0).sum()) - N
    stepping = Stepping(method, torch.zeros(N, D), W, **OPTIONS, **values)
    for _ in range(steps):
        stepping.advance()
    network = stepping.network
    return network.messages / edges / steps, network.bytes_sent / edges / steps


# Workers of ad_psgd meet in pairs, in virtual time only.
ELSEWHERE = {"gossip_until", "choco", "ad_psgd"}


@pytest.mark.parametrize("method", sorted(set(METHODS) - ELSEWHERE))
def test_declared_messages_are_those_that_are_counted(method):
    sizes = sent(fields(method=method), D)
    first = method.endswith("_tracking")  # its first y is the gradient: nothing to mix
    if first:
        once, twice = counted(method, 1), counted(method, 2)
        messages, size = (2 * b - a for a, b in zip(once, twice, strict=True))
    else:
        messages, size = counted(method, 2)
    assert (messages, size) == (len(sizes), sum(sizes))


@pytest.mark.parametrize("name", sorted(COMPRESSIONS))
def test_compressed_messages(name):
    sizes = sent(fields(method="choco", compression=name, **OPTIONS), D)
    assert counted("choco", 2, compression=name) == (1, *sizes)


def test_one_method_cannot_tell():
    assert sent(fields(method="gossip_until"), D) is None


def test_numbers_are_wide_as_told():
    assert sent(fields(method="push_sum"), D, number=8) == [8 * (D + 1)]
    assert sent(fields(method="relay_sum"), D) == [4 * D + 4]
    assert {each for entry in METHODS.values() for each in entry.sends} <= set(NUMBERS)
