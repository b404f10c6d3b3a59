"""Each attack against each defence, worker by worker."""

import lying
import numpy as np
import pytest
import torch
from by_worker import D
from stepping import fields, ring_matrix, states

from ngo.common.fields import above, number
from ngo.common.options import DECLARED
from ngo.gossip.attack import ATTACKS, Liars, Messages, attack
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.training.resolve import resolve

ATTACK = ("sign_flip", "noise", "alie", "dissensus")
DEFENCE = ("power", "clipped", "clipped_adaptive", "median", "trimmed_mean")


@pytest.mark.parametrize("defence", DEFENCE)
@pytest.mark.parametrize("name", ATTACK)
def test_an_attack_is_its_reference_worker_by_worker(name, defence):
    start = lying.start()
    expected = lying.reference(getattr(lying, name), getattr(lying, defence), start)
    assert np.allclose(lying.found(name, defence, start), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("defence", DEFENCE)
def test_without_an_attack_a_defence_is_its_reference(defence):
    start = lying.start()
    expected = lying.reference(lambda x, i, j, t: x[j], getattr(lying, defence), start)
    assert np.allclose(lying.found("none", defence, start), expected, rtol=0, atol=1e-9)


def test_each_lie_of_noise_has_its_own_draws():
    """The pull is that of what was heard: four messages of noise, in two steps."""
    X, _ = states()
    heard = []

    def take(X, W, at):
        heard.append(at[5 : 5 + 2] - at[4])
        return X

    liars = Liars(ATTACKS["noise"], fields(), 0, 4)
    for t in (0, 1):
        liars.step(take, X, MixingMatrix.of(ring_matrix()), t)
    noises = torch.cat(heard)
    assert len(noises.unique()) == noises.numel() == 4 * X.shape[1]


def test_an_attack_has_the_number_of_liars_and_its_own_options(own_entries):
    shift = {"lie_shift": number("shift of a lie", 1.0, above(0))}

    @attack("shifted", options=shift)
    def shifted(messages, run):
        return messages.truth + run.lie_shift

    assert ATTACKS["shifted"].fields == ("liars", "lie_shift")
    assert ATTACKS["none"].fields == ()
    assert DECLARED["liars"].owners == ("attack",)
    spec = resolve({"attack": "shifted", "lie_shift": 2})
    assert (spec.liars, spec.lie_shift, spec.honest) == (1, 2.0, 9)
    row, stream = torch.zeros(1, D), torch.Generator()
    messages = Messages(row, row[0], row, torch.ones(1), 0.1, stream)
    assert torch.equal(ATTACKS["shifted"].lie(messages, spec), torch.full((1, D), 2.0))
