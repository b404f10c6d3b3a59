import pytest
import torch
from stepping import D, N, Stepping, ring_matrix, states


def test_the_rate_decays_as_its_power():
    def rate(t, **values):
        stepping = Stepping("ngo", states()[0], **values)
        stepping.t = t
        return stepping.step().gamma

    assert [rate(t, gamma=0.6, gamma_decay=0.0) for t in (0, 9)] == [0.6, 0.6]
    assert rate(3, gamma=0.6, gamma_decay=0.5) == pytest.approx(0.3)
    assert rate(9, gamma=0.6, gamma_decay=1.0) == pytest.approx(0.06)
    X, G = states()
    decayed = Stepping("ngo", X, ring_matrix(), gamma_decay=0.5)
    decayed.t = 3
    constant = Stepping("ngo", X, ring_matrix(), gamma=0.1)
    constant.t = 3
    decayed.advance(G)
    constant.advance(G)
    assert torch.allclose(decayed.X, constant.X)


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


def test_in_one_process_there_are_no_copies():
    X, _ = states()
    stepping = Stepping("choco", X, ring_matrix(), compression="sign")
    step = stepping.step()
    assert step.copies("x_hat").shape == (0, D)
    x_hat = X / 3
    step.send_compressed(X, x_hat, step.copies("x_hat"))
    z = X - X / 3
    assert torch.allclose(x_hat, X / 3 + z.sign() * z.abs().mean(1, keepdim=True))
    assert step.network.bytes_sent == 2 * N * (8 + 1)  # 7 bits, rounded up to bytes


def test_pulls_that_are_added_are_those_of_gossip_and_opposite_bit_for_bit():
    X, to = (each.float() for each in states(d=1500))
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
