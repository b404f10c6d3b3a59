"""What each compression sends, its bias and its error."""

import pytest
import torch
from compression_cases import D, N, codec_of, mean_of_draws, rows, sent
from rates import check_mean, check_uniform


@pytest.mark.parametrize("kept", [0.01, 0.2, 1.0])
def test_top_k_sends_the_largest_entries_as_they_are(kept):
    z = rows()
    found = sent(codec_of("top_k", kept_share=kept), z)
    assert ((found != 0).sum(1) == max(1, round(kept * D))).all()
    assert torch.equal(found[found != 0], z[found != 0])
    for row, left in zip(found, z - found, strict=True):
        assert row[row != 0].abs().min() >= left.abs().max()


def test_random_k_sends_entries_as_they_are():
    z, codec = rows(), codec_of("random_k")
    first, second = sent(codec, z), sent(codec, z)
    for found in (first, second):
        assert ((found != 0).sum(1) == 8).all()
        assert torch.equal(found[found != 0], z[found != 0])
    assert not torch.equal(first != 0, second != 0)
    assert len({tuple(row) for row in (first != 0).int().tolist()}) == N  # a stream for each


def test_the_share_that_random_k_keeps_is_exact_and_each_entry_as_likely():
    draws, d = 10_000, 20
    codec = codec_of("random_k", n=draws, d=d, kept_share=0.25)
    kept = sent(codec, torch.ones(draws, d).double()) != 0
    assert (kept.sum(1) == 5).all()
    check_uniform(kept.sum(0).numpy())


def test_signs_and_the_mean_magnitude_are_sent():
    z = rows()
    z[0, 0] = 0
    scale = z.abs().mean(1, keepdim=True)
    assert torch.equal(sent(codec_of("sign"), z), torch.where(z < 0, -scale, scale))


@pytest.mark.parametrize("levels", [1, 5, 127])
def test_entries_of_qsgd_are_the_two_nearest_levels(levels):
    z, codec = rows(), codec_of("qsgd", levels=levels)
    unit = sent(codec, z) * codec.tau * levels / z.norm(dim=1, keepdim=True)
    level, exact = unit.abs(), z.abs() * levels / z.norm(dim=1, keepdim=True)
    assert torch.allclose(level, level.round(), atol=1e-9)
    assert (level - exact).abs().max() <= 1
    assert torch.equal(unit.sign()[level > 0.5], z.sign()[level > 0.5])


@pytest.mark.parametrize(("d", "levels"), [(20, 2), (20, 5)])
def test_qsgd_is_unbiased_before_it_is_divided(d, levels):
    """And its variance is at most min(d/s², √d/s)‖z‖²: lemma 3.1 of the paper."""
    z, tau = rows(1, d)[0], 1 + min(d / levels**2, d**0.5 / levels)
    mean, _ = mean_of_draws("qsgd", z, levels=levels)
    assert torch.allclose(tau * mean, z, atol=0.15)
    codec = codec_of("qsgd", n=2000, d=d, levels=levels)
    unbiased = tau * sent(codec, z.expand(2000, -1).contiguous())
    assert (unbiased - z).square().sum(1).mean() <= (tau - 1) * z.square().sum()
    assert codec.tau == tau


@pytest.mark.parametrize("factor", [1e25, 1e-25, 1e37, 1e-37])
def test_rows_whose_squares_leave_the_range_are_compressed_as_others(factor):
    z = rows(dtype=torch.float32)
    expected = sent(codec_of("qsgd", dtype=torch.float32), z)
    found = sent(codec_of("qsgd", dtype=torch.float32), z * factor)
    assert torch.allclose(found / factor, expected, rtol=1e-4)
    assert found.any()


def test_a_row_out_of_range_leaves_the_bits_of_the_others():
    z = rows(dtype=torch.float32)
    alone = codec_of("qsgd", dtype=torch.float32).encode(z)
    z[1] *= 1e25
    z[2] *= 1e-25
    z[3] = 0
    together = codec_of("qsgd", dtype=torch.float32).encode(z)
    assert torch.equal(together[0], alone[0])
    assert sent(codec_of("qsgd", dtype=torch.float32), z)[3].tolist() == [0.0] * z.shape[1]


def test_the_norm_of_a_finite_row_is_finite_and_that_of_another_is_not():
    z = torch.full((2, 41), 3e38)
    assert sent(codec_of("qsgd", n=2, dtype=torch.float32), z).isfinite().all()
    z[0, 5] = float("inf")
    z[1, 5] = float("nan")
    assert not sent(codec_of("qsgd", n=2, dtype=torch.float32), z).isfinite().all(1).any()


@pytest.mark.parametrize("levels", [2, 7])
def test_the_length_of_the_mean_of_qsgd_is_that_of_the_row(levels):
    """C ⟨C(z), z⟩ / ‖z‖² is 1 in the mean."""
    z, draws = rows(1, 64)[0], 4000
    codec = codec_of("qsgd", n=draws, d=64, levels=levels)
    found = codec.tau * sent(codec, z.expand(draws, -1).contiguous())
    check_mean((found @ z / z.square().sum()).numpy(), 1.0, sees=0.03)
