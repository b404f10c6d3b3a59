import pytest
import torch
from compression_cases import N, codec_of, mean_of_draws, rows, sent
from rates import check_uniform


def test_the_drawn_entries_are_sent_as_they_are():
    z, codec = rows(), codec_of("random_k")
    first, second = sent(codec, z), sent(codec, z)
    for found in (first, second):
        assert ((found != 0).sum(1) == 8).all()
        assert torch.equal(found[found != 0], z[found != 0])
    assert not torch.equal(first != 0, second != 0)
    assert len({tuple(row) for row in (first != 0).int().tolist()}) == N  # a stream for each


def test_every_entry_is_as_likely():
    """(d/k) C(z) is unbiased, and E‖C(z) − z‖² = (1 − k/d)‖z‖²."""
    z = rows(1, 20)[0]
    mean, error = mean_of_draws("random_k", z, kept_share=0.25)
    assert torch.allclose(4 * mean, z, atol=0.25)
    assert error == pytest.approx(0.75 * float(z.square().sum()), rel=0.03)


def test_the_share_that_is_kept_is_exact_and_each_entry_as_likely():
    draws, d = 10_000, 20
    codec = codec_of("random_k", n=draws, d=d, kept_share=0.25)
    kept = sent(codec, torch.ones(draws, d).double()) != 0
    assert (kept.sum(1) == 5).all()
    check_uniform(kept.sum(0).numpy())
    (row,) = sent(codec_of("random_k", n=1, d=1000, kept_share=0.3), torch.ones(1, 1000).double())
    assert row.count_nonzero() == 300
