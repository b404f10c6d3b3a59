import torch
from compression_cases import D, codec_of, rows, sent


def test_signs_and_the_mean_magnitude_are_sent():
    z = rows()
    z[0, 0] = 0
    found = sent(codec_of("sign"), z)
    scale = z.abs().mean(1, keepdim=True)
    assert torch.equal(found, torch.where(z < 0, -scale, scale))


def test_the_error_is_known():
    """‖C(z) − z‖² = ‖z‖² − ‖z‖₁²/d."""
    z = rows()
    error = (sent(codec_of("sign"), z) - z).square().sum(1)
    assert torch.allclose(error, z.square().sum(1) - z.abs().sum(1).square() / D)
