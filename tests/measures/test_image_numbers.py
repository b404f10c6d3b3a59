"""Numbers beside an autoencoder's images."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from ngo.measures.samples import class_means_loss, reconstruction_loss, workers_variance


class Pictures:
    """Two training and two test images of one grey pixel for each of two classes."""

    train_inputs = torch.tensor([0, 102, 255, 153], dtype=torch.uint8).view(4, 1, 1, 1)
    train_targets = torch.tensor([0, 0, 1, 1])
    test_inputs = torch.tensor([0, 255, 51], dtype=torch.uint8).view(3, 1, 1, 1)
    test_targets = torch.tensor([0, 1, 0])


class Model(nn.Module):
    """Decodes every code to the same logits ``[1, …]``."""

    latent = 2

    def __init__(self, logits):
        super().__init__()
        self.logits = logits

    def encode(self, x):
        return x.new_zeros(len(x), 2), x.new_zeros(len(x), 2)

    def decode(self, z):
        return self.logits.expand(len(z), *self.logits.shape[1:])


def test_the_loss_of_reconstructions_has_no_divergence():
    even = Model(torch.zeros(1, 1, 1, 1))
    assert reconstruction_loss(even, Pictures) == pytest.approx(math.log(2))
    assert math.isnan(reconstruction_loss(Model(torch.full((1, 1, 1, 1), math.nan)), Pictures))


def test_the_loss_of_class_means_is_that_of_their_grey_levels():
    found = class_means_loss(Model(torch.zeros(1, 1, 1, 1)), Pictures)
    dark, bright = (0.4 + 0.5) / 3, (1.6 + 0.5) / 3
    by_hand = [
        -math.log(1 - dark),
        -math.log(bright),
        -0.2 * math.log(dark) - 0.8 * math.log(1 - dark),
    ]
    assert found == pytest.approx(np.mean(by_hand))


def test_the_loss_of_class_means_of_256_levels_is_that_of_their_frequencies():
    found = class_means_loss(Model(torch.zeros(1, 256, 1, 1, 1)), Pictures)
    seen, unseen = -math.log(2 / 258), -math.log(1 / 258)
    assert found == pytest.approx((seen + seen + unseen) / 3)


def test_the_variance_is_between_workers_not_between_images():
    images = np.array([[[0, 255]], [[0, 255]]], np.uint8)  # two workers, one image, two pixels
    assert workers_variance(images) == 0
    images[1, 0, 0] = 255
    assert workers_variance(images) == pytest.approx(1 / 8)
