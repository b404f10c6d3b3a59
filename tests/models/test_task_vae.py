import math

import pytest
import torch

from ngo.models.task import TASKS


def test_negative_elbo_of_a_case_by_hand():
    """Two pixels, Bernoulli, latent size 1: −log p = −ln σ(0) − ln σ(ln 3), KL by its formula."""
    images = torch.tensor([[[[255, 255]]]], dtype=torch.uint8)
    logits = torch.tensor([[[[0.0, math.log(3)]]]])
    mean, log_variance = torch.tensor([[2.0]]), torch.tensor([[math.log(0.25)]])
    divergence = 0.5 * (2.0**2 + 0.25 - 1 - math.log(0.25))
    expected = math.log(2) + math.log(4 / 3) + divergence
    found = TASKS["vae"].loss((logits, mean, log_variance), images)
    assert found.tolist() == [pytest.approx(expected, rel=1e-6)]


def test_negative_elbo_of_grey_levels_and_of_the_prior():
    """At 51/255 = 0.2: −0.2 ln q − 0.8 ln(1 − q); where q(z|x) = p(z), no divergence."""
    images = torch.full((3, 1, 1, 1), 51, dtype=torch.uint8)
    logits = torch.full((3, 1, 1, 1), math.log(1 / 3))  # q = 1/4
    nothing = torch.zeros(3, 2)
    expected = -0.2 * math.log(0.25) - 0.8 * math.log(0.75)
    found = TASKS["vae"].loss((logits, nothing, nothing), images)
    assert torch.allclose(found, torch.full((3,), expected))


def test_negative_elbo_of_a_categorical_by_hand():
    """Two colour values: one certain to 1/256 (flat logits), one with odds 3 : 1 · 255 others."""
    images = torch.tensor([[[[7]], [[200]]]], dtype=torch.uint8)  # two channels of one pixel
    logits = torch.zeros(1, 256, 2, 1, 1)
    logits[0, 200, 1] = math.log(3 * 255)
    nothing = torch.zeros(1, 4)
    expected = math.log(256) + math.log(4 / 3)
    assert TASKS["vae"].loss((logits, nothing, nothing), images).item() == pytest.approx(expected)


def test_the_targets_are_the_images():
    images = torch.tensor([[[[51, 255]]]], dtype=torch.uint8)
    inputs, targets = TASKS["vae"].batch(None, images, None)
    assert torch.equal(inputs, torch.tensor([[[[0.2, 1.0]]]]))
    assert targets is images
    assert TASKS["vae"].labelled
    assert TASKS["vae"].score is None
