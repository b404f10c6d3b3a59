"""Variational autoencoders: the negative evidence lower bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.models.task import task

if TYPE_CHECKING:
    import torch

    from ngo.data.dataset import Dataset
    from ngo.models.task import Batch


def image_batch(data: Dataset, inputs: torch.Tensor, targets: torch.Tensor) -> Batch:
    """Pixels in [0, 1], and the uint8 images as targets."""
    return inputs / 255, inputs


@task("vae", batch=image_batch)
def negative_elbo(
    outputs: tuple[torch.Tensor, torch.Tensor, torch.Tensor], images: torch.Tensor
) -> torch.Tensor:
    """−log p(x | z) + KL(q(z | x) ‖ N(0, I)) ``[b]``, in nats, for uint8 images ``[b, c, h, w]``.

    ``outputs`` are the logits of x at one draw of z, and the mean and log-variance of q
    ``[b, latent]``. With logits ``[b, c, h, w]`` the likelihood of a grey level, as a share of 1,
    is Bernoulli; with logits ``[b, 256, c, h, w]`` it is categorical.
    """
    from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

    logits, mean, log_variance = outputs
    if logits.dim() == images.dim():
        distortion = binary_cross_entropy_with_logits(logits, images / 255, reduction="none")
    else:
        distortion = cross_entropy(logits, images.long(), reduction="none")
    divergence = (mean.square() + log_variance.exp() - 1 - log_variance) / 2
    return distortion.flatten(1).sum(1) + divergence.sum(1)
