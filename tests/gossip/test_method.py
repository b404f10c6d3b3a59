"""What a method is given, what it declares, what it sends, and how it rounds."""

import pytest
import torch
from stepping import D, N, Stepping, fields, mixing_matrix, ring_matrix, states

from ngo.common.registries import COMPRESSIONS, LOCAL_RULES, METHODS
from ngo.common.seeding import torch_stream
from ngo.gossip.method import NUMBERS, sent
from ngo.gossip.topologies.static import chain, complete

TOGETHER = [name for name, entry in METHODS.items() if entry.arrivals != "pair"]
PAIRS = [*((name, "sgd") for name in TOGETHER), *(("ngo", rule) for rule in LOCAL_RULES)]
SIZE = 23
OPTIONS = {"kept_share": 0.1, "levels": 5, "exchange_probability": 1.0, "delay": 1}
# Workers of ad_psgd meet in pairs, in virtual time only.
ELSEWHERE = {"gossip_until", "choco", "ad_psgd"}


@pytest.mark.parametrize(("name", "rule"), PAIRS)
def test_the_compiled_step_of_float32_is_that_of_float64(name, rule):
    """The slow references of methods and rules are compared with float64."""
    W = mixing_matrix(chain(N)) if name == "relay_sum" else ring_matrix()
    X, G = states(d=1500)
    how = {"W": W, "rule": rule, "weight_decay": 0.01, "p": 0.9, "v_threshold": 1e-3}
    compiled, exact = (Stepping(name, Y, **how) for Y in (X.float(), X))
    for t in range(4):
        for stepping in (compiled, exact):
            stepping.run.lr = 0.1 / (1 + t)
            stepping.advance(G.to(stepping.X) * stepping.X)
    assert torch.allclose(compiled.X.double(), exact.X, rtol=0, atol=1e-4)


def test_a_matrix_is_made_at_its_first_use_and_kept_across_steps():
    def momentum(step):
        velocity = step.matrix("velocity")
        velocity.mul_(0.5).add_(step.G)
        count = step.matrix("count", columns=1, fill=3.0)
        count += 1
        step.X.sub_(velocity)

    X, G = states()
    stepping = Stepping(momentum, X)
    assert stepping.matrices == {}
    for _ in range(3):
        stepping.advance(G)
    assert torch.allclose(stepping.matrices["velocity"], 1.75 * G)
    assert torch.allclose(stepping.X, X - (1 + 1.5 + 1.75) * G)
    assert torch.equal(stepping.matrices["count"], torch.full((N, 1), 6.0, dtype=X.dtype))
    assert stepping.matrices["velocity"].shape == (N, D)
    assert {m.dtype for m in stepping.matrices.values()} == {X.dtype}


def test_pulls_that_are_added_are_those_of_gossip_and_opposite_bit_for_bit():
    X, to = (rows.float() for rows in states(d=1500))
    for p in (1.0, 0.8):
        stepping, sums, before = Stepping("d2", X, ring_matrix(), p=p), torch.zeros_like(to), to
        stepping.network.set_matrix(ring_matrix())
        stepping.step().add_pulls(sums, at=X)
        assert float(sums.double().sum(0).abs().max()) < 1e-6
        step = stepping.step()
        step.add_pulls(added := before.clone(), at=X)
        assert torch.allclose(added, before + sums, rtol=0, atol=1e-6)
        step.gossip()
        assert torch.allclose(step.X, X + sums, rtol=0, atol=1e-6)
    equal = X[:1].expand_as(X).contiguous()
    Stepping("d2", X, ring_matrix(), p=1.0).step().add_pulls(added := before.clone(), at=equal)
    assert torch.equal(added, before)


def on_an_edge(method, steps, **values):
    """The messages and their bytes, on each edge in a step."""
    W = mixing_matrix(chain(N)) if METHODS[method].graph == "tree" else ring_matrix(N)
    edges = 2 * N if not METHODS[method].decentralized else int((W != 0).sum()) - N
    stepping = Stepping(method, torch.zeros(N, SIZE), W, **OPTIONS, **values)
    for _ in range(steps):
        stepping.advance()
    network = stepping.network
    return network.messages / edges / steps, network.bytes_sent / edges / steps


@pytest.mark.parametrize("method", sorted(set(METHODS) - ELSEWHERE))
def test_declared_messages_are_those_that_are_counted(method):
    sizes = sent(fields(method=method), SIZE)
    first = method.endswith("_tracking")  # its first y is the gradient: nothing to mix
    if first:
        once, twice = on_an_edge(method, 1), on_an_edge(method, 2)
        messages, size = (2 * b - a for a, b in zip(once, twice, strict=True))
    else:
        messages, size = on_an_edge(method, 2)
    assert (messages, size) == (len(sizes), sum(sizes))


@pytest.mark.parametrize("name", sorted(COMPRESSIONS))
def test_compressed_messages(name):
    sizes = sent(fields(method="choco", compression=name, **OPTIONS), SIZE)
    assert on_an_edge("choco", 2, compression=name) == (1, *sizes)


def test_numbers_are_wide_as_told():
    assert sent(fields(method="push_sum"), SIZE, number=8) == [8 * (SIZE + 1)]
    assert sent(fields(method="relay_sum"), SIZE) == [4 * SIZE + 4]
    assert {numbers for entry in METHODS.values() for numbers in entry.sends} <= set(NUMBERS)


def after(method, dtype, steps):
    """The workers' states after ``steps`` steps on quadratics, each with a minimum of its own."""
    stream = torch_stream(0, "quadratics")
    best, curvature = torch.randn(2, 10, 4, generator=stream, dtype=torch.float64).to(dtype)
    best, curvature = 1 + 2 * best, 1 + 0.2 * curvature
    W = mixing_matrix((chain if METHODS[method].graph == "tree" else complete)(10))
    X = torch.zeros(10, 4, dtype=dtype)
    stepping, seen = Stepping(method, X, W, lr=0.05, gamma=0.5, p=1.0, local_steps=2), None
    for t in range(1, steps + 1):
        stepping.advance(curvature * (stepping.X - best))
        matrices = stepping.X, *stepping.matrices.values()
        state = torch.cat([matrix.flatten() for matrix in matrices])
        if t & (t - 1) == 0:
            seen = state
        elif method != "proxskip" and torch.equal(state, seen):
            break  # what follows is the same again: only ProxSkip's steps depend on their number
    return stepping.X.double()


@pytest.mark.slow
@pytest.mark.parametrize("method", TOGETHER)
def test_a_long_run_in_float32_does_not_drift(method):
    """Float64 has reached its fixed point in a few steps. On this graph no row's weights add up."""
    exact, actual = after(method, torch.float64, 1000), after(method, torch.float32, 30_000)
    assert torch.allclose(actual, exact, rtol=0, atol=1e-4)
    assert torch.allclose(actual.mean(0), exact.mean(0), rtol=0, atol=3e-5)
