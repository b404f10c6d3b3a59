"""Numbers on an autoencoder's images: the error of reconstructions, the spread of workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.common.types import Tensor

if TYPE_CHECKING:
    import numpy as np

    from ngo.data.dataset import Dataset
    from ngo.models.layers import VAE


BATCH = 500
"""Images that are decoded at once."""


def reconstruction_loss(model: VAE, data: Dataset) -> float:
    """−log p(x | z) in nats per test image, with the mean of q(z | x) as the code z.

    NaN if the model has diverged.
    """
    import torch

    losses = []
    with torch.no_grad():
        for images in data.test_inputs.split(BATCH):
            code, _ = model.encode(images / 255)
            losses.append(_distortion(model.decode(code), images))
    return float(torch.cat(losses).double().mean())


def class_means_loss(model: VAE, data: Dataset) -> float:
    """What ``reconstruction_loss`` is if each test image is replaced by the mean of its class.

    The mean is that of the training images, under the model's likelihood: the mean grey level of
    each pixel, or the frequency of each of its 256 levels, with one count added to each.
    """
    import torch

    with torch.no_grad():
        categorical = model.decode(torch.zeros(1, model.latent)).dim() == 5
        total, count = 0.0, 0
        for label in data.train_targets.unique():
            own = data.train_inputs[data.train_targets == label]
            logits = _frequencies(own) if categorical else _mean(own).logit()
            for images in data.test_inputs[data.test_targets == label].split(BATCH):
                repeated = logits.expand(len(images), *logits.shape)
                total += float(_distortion(repeated, images).double().sum())
                count += len(images)
    return total / count


def workers_variance(images: np.ndarray) -> float:
    """The variance between workers of the grey levels, as shares of 1, mean over pixels.

    ``images`` are levels 0 to 255 ``[workers, images, …]``. All workers decode the same codes.
    0 if all workers generate the same; at most 1/4.
    """
    return float((images / 255).var(axis=0).mean())


def _mean(images: Tensor) -> Tensor:
    """The mean image, a share of 1 that is never 0 or 1."""
    return (images.double().sum(0) / 255 + 1 / 2).div(len(images) + 1).float()


def _frequencies(images: Tensor) -> Tensor:
    """The logarithm of the frequency of each level ``[256, c, h, w]``."""
    import torch

    counts = torch.stack([(images == level).sum(0) for level in range(256)])
    return ((counts + 1) / (len(images) + 256)).log()


def _distortion(logits: Tensor, images: Tensor) -> Tensor:
    """−log p(x | z) ``[b]``: the negative ELBO without divergence."""
    from ngo.models.tasks import negative_elbo

    none = logits.new_zeros(len(images), 1)
    return negative_elbo((logits, none, none), images)
