"""Each task: its batches, losses and scores by hand."""

import math

import pytest
import torch

from ngo.data.dataset import Dataset
from ngo.models.task import TASKS, normalised_batch


def test_a_normalised_batch():
    """Images are normalised; real inputs and all targets are unchanged."""
    images = torch.tensor([0, 255], dtype=torch.uint8).view(2, 1, 1, 1)
    labels, half = torch.tensor([0, 1]), torch.full((1, 1, 1), 0.5)
    data = Dataset("x", 2, images, labels, images, labels, mean=half, std=half)
    inputs, targets = normalised_batch(data, images, labels)
    assert inputs.flatten().tolist() == [-1, 1]
    assert targets is labels
    real = torch.ones(2, 3)
    assert normalised_batch(data, real, labels)[0] is real


def test_cross_entropy_and_accuracy_by_hand():
    logits, targets = torch.tensor([[0.0, math.log(3)], [2.0, 2.0]]), torch.tensor([1, 1])
    task = TASKS["classification"]
    assert task.loss(logits, targets).tolist() == pytest.approx([math.log(4 / 3), math.log(2)])
    assert task.score(logits, targets).tolist() == [True, False]
    assert task.labelled


NEXT_CHARACTER = TASKS["next_character"]


def test_the_loss_is_the_mean_over_the_characters_after_the_first():
    """Logits 0, and one logit ln 3 of a right character: losses ln 2 and ln (4/3)."""
    characters = torch.tensor([[1, 0, 1], [0, 0, 0]])
    outputs = torch.zeros(2, 3, 2)
    outputs[1, 0, 0] = math.log(3)
    outputs[:, 2] = 1e3  # of a character after the last, which is not known
    actual = NEXT_CHARACTER.loss(outputs, characters).tolist()
    assert actual == pytest.approx([math.log(2), (math.log(4 / 3) + math.log(2)) / 2])


def test_the_score_is_the_share_of_correct_characters():
    characters = torch.tensor([[1, 0, 1], [0, 1, 1]])
    outputs = torch.eye(2)[torch.tensor([[0, 1, 0], [0, 0, 1]])]
    assert NEXT_CHARACTER.score(outputs, characters).tolist() == [1, 0]
    assert NEXT_CHARACTER.score(outputs[:1], torch.tensor([[1, 0, 0]])).tolist() == [0.5]


def test_squared_error_is_the_mean_over_outputs():
    outputs, targets = (
        torch.tensor([[1.0, 2.0], [0.0, 0.0]]),
        torch.tensor([[0.0, 0.0], [3.0, 0.0]]),
    )
    assert TASKS["regression"].loss(outputs, targets).tolist() == [2.5, 4.5]
    assert TASKS["regression"].score is None
    assert not TASKS["regression"].labelled


def test_negative_elbo_of_a_case_by_hand():
    """Two pixels, Bernoulli, latent size 1: −log p = −ln σ(0) − ln σ(ln 3), KL by its formula."""
    images = torch.tensor([[[[255, 255]]]], dtype=torch.uint8)
    logits = torch.tensor([[[[0.0, math.log(3)]]]])
    mean, log_variance = torch.tensor([[2.0]]), torch.tensor([[math.log(0.25)]])
    divergence = 0.5 * (2.0**2 + 0.25 - 1 - math.log(0.25))
    expected = math.log(2) + math.log(4 / 3) + divergence
    actual = TASKS["vae"].loss((logits, mean, log_variance), images)
    assert actual.tolist() == [pytest.approx(expected, rel=1e-6)]


def test_negative_elbo_of_a_categorical_by_hand():
    """Two colour values: one certain to 1/256 (flat logits), one with odds 3 : 1 · 255 others."""
    images = torch.tensor([[[[7]], [[200]]]], dtype=torch.uint8)  # two channels of one pixel
    logits = torch.zeros(1, 256, 2, 1, 1)
    logits[0, 200, 1] = math.log(3 * 255)
    nothing = torch.zeros(1, 4)
    expected = math.log(256) + math.log(4 / 3)
    assert TASKS["vae"].loss((logits, nothing, nothing), images).item() == pytest.approx(expected)
