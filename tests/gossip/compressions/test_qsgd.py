import pytest
import torch
from compression_cases import codec_of, mean_of_draws, rows, sent


@pytest.mark.parametrize("levels", [1, 5, 127])
def test_entries_are_the_two_nearest_levels(levels):
    z, codec = rows(), codec_of("qsgd", levels=levels)
    unit = sent(codec, z) * codec.tau * levels / z.norm(dim=1, keepdim=True)
    level, exact = unit.abs(), z.abs() * levels / z.norm(dim=1, keepdim=True)
    assert torch.allclose(level, level.round(), atol=1e-9)
    assert (level - exact).abs().max() <= 1
    assert torch.equal(unit.sign()[level > 0.5], z.sign()[level > 0.5])


@pytest.mark.parametrize(("d", "levels"), [(20, 2), (20, 5)])
def test_it_is_unbiased_before_it_is_divided(d, levels):
    """And its variance is at most min(d/s², √d/s)‖z‖²: lemma 3.1 of the paper."""
    z, tau = rows(1, d)[0], 1 + min(d / levels**2, d**0.5 / levels)
    mean, _ = mean_of_draws("qsgd", z, levels=levels)
    assert torch.allclose(tau * mean, z, atol=0.15)
    codec = codec_of("qsgd", n=2000, d=d, levels=levels)
    unbiased = tau * sent(codec, z.expand(2000, -1).contiguous())
    variance = (unbiased - z).square().sum(1).mean()
    assert variance <= (tau - 1) * z.square().sum()
    assert codec.tau == tau


def test_one_large_entry_is_exact():
    z = torch.zeros(1, 9).double()
    z[0, 3] = -2.0
    codec = codec_of("qsgd", n=1, d=9)
    assert torch.allclose(codec.tau * sent(codec, z), z)
