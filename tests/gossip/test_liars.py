"""Attacks and defences: worker by worker, and what one liar can do."""

from types import SimpleNamespace

import lying
import numpy as np
import pytest
import torch
from by_worker import D
from cases import refused
from stepping import Stepping, ring_matrix, states

from ngo.common.fields import Entry, above, number
from ngo.common.registries import ATTACKS, DECLARED
from ngo.gossip.attack import Byzantine, Messages, attack
from ngo.gossip.exchange import Network
from ngo.training.spec_checks import resolve

ATTACK = ("sign_flip", "noise", "alie", "dissensus")
DEFENCE = ("power", "clipped", "clipped_adaptive", "median", "trimmed_mean")
N, HONEST, GAMMA = 5, 4, 0.2


@pytest.mark.parametrize("defence", DEFENCE)
@pytest.mark.parametrize("name", ATTACK)
def test_an_attack_is_its_reference_worker_by_worker(name, defence):
    start = lying.start()
    expected = lying.reference(getattr(lying, name), getattr(lying, defence), start)
    assert np.allclose(lying.found(name, defence, start), expected, rtol=0, atol=1e-6)


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
    assert torch.equal(ATTACKS["shifted"].of(messages, spec), torch.full((1, D), 2.0))


def moved(size, coupling, steps=1, **values):
    """How far a lie of ``size`` in each entry moves each worker ``[n, d]``; its first state."""
    X, _ = states()
    lie = Entry(lambda messages, run: messages.truth + size, ())
    stepping = Stepping("ngo", X, ring_matrix(), coupling=coupling, gamma=GAMMA, **values)
    stepping.network.byzantine = Byzantine(lie, stepping.run, 0, HONEST)
    for _ in range(steps):
        before = stepping.X.clone()
        stepping.advance()
    return stepping.X - before, before


def test_one_liar_on_a_ring_moves_linear_gossip_as_far_as_it_likes():
    """Its two neighbours move by γ W_ij times the size of the lie, in each entry and step."""
    small, _ = moved(0.0, "power", p=1.0)
    for size in (1.0, 1e3, 1e6):
        further = moved(size, "power", p=1.0)[0] - small
        assert torch.allclose(further[[0, 3]], torch.full((2, 7), GAMMA / 3 * size).double())
        assert further[[1, 2]].abs().max() < 1e-9


@pytest.mark.parametrize("size", [1.0, 1e9])
def test_no_lie_moves_a_worker_further_than_gamma_times_its_weights_under_the_sign(size):
    """φ_(1/2): γ Σ_j W_ij in each entry and step, whatever the lie, here γ · 2/3."""
    steps = 20
    last, before = moved(size, "power", steps=steps, p=0.5)
    assert last[:HONEST].abs().max() <= GAMMA * 2 / 3 + 1e-12
    total = (before + last - states()[0])[:HONEST].abs().max()
    assert total <= steps * GAMMA * 2 / 3 + 1e-12


@pytest.mark.parametrize("size", [1.0, 1e9])
def test_no_lie_moves_a_worker_further_than_its_radius_under_clipped_gossip(size):
    """γ Σ_j W_ij τ in length; with the adaptive τ_i, the closest neighbours decide it."""
    last, _ = moved(size, "clipped", steps=20, clip=0.5)
    assert last[:HONEST].norm(dim=1).max() <= GAMMA * 2 / 3 * 0.5 + 1e-9
    last, before = moved(size, "clipped_adaptive", delta_max=1 / 3)
    for i, honest in ((0, 1), (3, 2)):  # the neighbour of i that does not lie
        radius = float((before[honest] - before[i]).norm())
        assert last[i].norm() <= GAMMA * 2 / 3 * radius + 1e-6


@pytest.mark.parametrize("size", [1.0, 1e9])
@pytest.mark.parametrize("coupling", ["median", "trimmed_mean"])
def test_no_lie_moves_a_worker_out_of_the_range_of_the_honest(coupling, size):
    last, before = moved(size, coupling, steps=3, trim=1)
    new = (before + last)[:HONEST]
    honest = before[:HONEST]
    assert (new <= honest.max(0).values + 1e-12).all()
    assert (new >= honest.min(0).values - 1e-12).all()


def test_liars_hear_the_truth_and_no_lie_of_other_liars():
    """Workers 3 and 4 learn as if nobody lied."""
    X, _ = states()
    plain = Stepping("ngo", X, ring_matrix(), gamma=GAMMA)
    plain.advance()
    lie = Entry(lambda messages, run: messages.truth + 1e3, ())
    stepping = Stepping("ngo", X, ring_matrix(), gamma=GAMMA)
    stepping.network.byzantine = Byzantine(lie, stepping.run, 0, 3)
    assert stepping.advance() == 2 * N
    assert torch.allclose(stepping.X[[1, 3, 4]], plain.X[[1, 3, 4]], atol=1e-12)
    assert (stepping.X[[0, 2]] - plain.X[[0, 2]]).norm(dim=1).min() > 1


def test_exchanges_in_which_nobody_would_lie_are_refused():
    stepping = Stepping("ngo", states()[0], ring_matrix())
    network = stepping.network
    network.set_matrix(stepping.W)
    network.byzantine = Byzantine(Entry(lambda m, run: m.truth, ()), stepping.run, 0, HONEST)
    for exchange in (network.mean, network.index, network.swap):
        refused("attack: workers lie in pulls and mixes, and this", exchange, stepping.X)
    refused("attack: workers lie", network.relay, stepping.X, stepping.X)


@pytest.mark.parametrize("lie", [None, 3.0, torch.ones(1, 1)], ids=str)
def test_what_is_no_row_for_each_liar_is_refused(lie):
    """A number for a row was sent in each entry."""
    run = SimpleNamespace(attack="mine")
    network = Network()
    network.byzantine = Byzantine(Entry(lambda messages, run: lie, ()), run, 0, 4)
    network.set_matrix(ring_matrix())
    refused("attack 'mine': it returned", network.mix, states()[0])


def test_an_attack_that_changes_what_it_is_told_changes_no_worker():
    """The receiver's own row was what it saw."""

    def zeroes(messages, run):
        messages.receiver.zero_()
        messages.honest.zero_()
        return messages.truth

    X = states()[0]
    ends = []
    for lie in (zeroes, lambda messages, run: messages.truth):
        network = Network()
        network.byzantine = Byzantine(Entry(lie, ()), SimpleNamespace(attack="mine"), 0, 4)
        network.set_matrix(ring_matrix())
        ends.append(X.clone())
        network.mix(ends[-1])
    assert torch.equal(*ends)
