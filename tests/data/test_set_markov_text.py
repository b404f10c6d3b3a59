from pathlib import Path

import numpy as np
import pytest

from ngo.data import loading
from ngo.data.partition import sample_owners
from ngo.data.sets import markov_text
from ngo.data.sets.markov_text import (
    AUTHORS,
    CHARACTERS,
    DIALECTS,
    DISTANCE,
    chains,
    dialect_of,
    read_markov_text,
)
from ngo.training.resolve import resolve

TEXT = {"dataset": "markov_text", "model": "gpt_char", "task": "next_character"}


def stationary(probabilities: np.ndarray) -> np.ndarray:
    """The distribution of two characters in a row in each dialect, ``[dialects, a, b]``."""
    pairs = np.full(probabilities.shape[:3], 1 / CHARACTERS**2)
    for _ in range(1000):
        pairs = np.einsum("kab,kabc->kbc", pairs, probabilities)
    return pairs


def entropy_rate(dialects: int = DIALECTS, dialect_distance: float = DISTANCE) -> float:
    """The mean entropy of a character after two others, in nats, if the dialect is known."""
    found = markov_text.chains(dialects, dialect_distance)
    surprise = -np.log(np.where(found > 0, found, 1))
    each = np.einsum("kab,kabc,kabc->k", stationary(found), found, surprise)
    return float(each[dialect_of(dialects)].mean())


def smallest_losses(
    text: np.ndarray,
    dialects: int = DIALECTS,
    dialect_distance: float = DISTANCE,
) -> tuple[float, float]:
    """The mean losses of two best predictions of ``text`` ``[m, 32]``, in nats a character.

    Both know all chains, but not the author of a sample. The first takes all characters before,
    which tell the dialects apart: in expectation, no model has a smaller loss. The second takes
    the last two characters alone.
    """
    text, found = np.asarray(text, np.int64), markov_text.chains(dialects, dialect_distance)
    share = np.bincount(dialect_of(dialects), minlength=dialects) / AUTHORS
    pairs = share[:, None, None] * stationary(found)  # joint with the dialect
    first, second = text[:, 0], text[:, 1]
    of_one, of_two = pairs.sum(2)[:, first], pairs[:, first, second]
    with_all = with_two = [-np.log(of_two.sum(0) / of_one.sum(0))]
    seen = of_two  # the joint probability of a dialect and all characters so far
    for t in range(2, text.shape[1]):
        a, b, c = text[:, t - 2 : t + 1].T
        after = found[:, a, b, c]
        with_all = [*with_all, -np.log((seen * after).sum(0) / seen.sum(0))]
        with_two = [*with_two, -np.log((pairs[:, a, b] * after).sum(0) / pairs[:, a, b].sum(0))]
        seen = seen * after
    return float(np.mean(with_all)), float(np.mean(with_two))


def test_the_text_is_the_same_every_time():
    first, second = read_markov_text(Path()), read_markov_text(Path())
    for a, b in zip(vars(first).values(), vars(second).values(), strict=True):
        assert np.array_equal(a, b)
    assert first.train_inputs.shape == (16_000, 32)
    assert set(np.unique(first.train_inputs)) == set(range(8))
    assert first.train_targets.tolist() == [*range(16)] * 1000
    assert first.test_targets.tolist() == [*range(16)] * 100
    assert not np.array_equal(first.train_inputs[:1600], first.test_inputs)


def test_the_distance_of_dialects_is_a_number():
    """Dialects differ by a multiple of their own probabilities; at 0 they are one."""
    whole, half, none = (chains(4, distance) for distance in (1, 0.5, 0))
    for each in (whole, half, none):
        assert each.sum(-1) == pytest.approx(np.ones((4, 8, 8)))
    assert (none == none[0]).all()
    assert half[1] - half[3] == pytest.approx((whole[1] - whole[3]) / 2)
    assert abs(whole[1] - whole[3]).max() > 0.5
    assert half == pytest.approx((whole + none) / 2)
    assert np.array_equal(chains(2, 0.5), half[:2])  # a further dialect leaves the others alone


@pytest.mark.parametrize("distance", [0, 0.5])
def test_characters_follow_the_chain_of_their_author(distance):
    """The share of each character after each two is the chain's, in the first ones too."""
    arrays = read_markov_text(Path(), dialects=2, dialect_distance=distance)
    text, found = arrays.train_inputs.astype(int), chains(2, distance)
    for dialect, first in ((0, 0), (1, 8)):
        own = text[(arrays.train_targets >= first) & (arrays.train_targets < first + 8)]
        counts = np.zeros((8, 8, 8))
        np.add.at(counts, (own[:, :-2], own[:, 1:-1], own[:, 2:]), 1)
        seen = counts.sum(-1, keepdims=True)
        often = seen[..., 0] > 5000
        shares = counts / np.maximum(seen, 1)
        assert abs(shares - found[dialect])[often].max() < 0.02
        assert often.sum() > 5
        start = np.bincount(own[:, 0] * 8 + own[:, 1], minlength=64) / len(own)
        assert abs(start - stationary(found)[dialect].ravel()).max() < 0.015


def test_the_entropy_of_a_chain_by_hand(monkeypatch):
    """A fair coin that does not look back has ln 2; one that repeats the last character has 0."""
    coin = np.zeros((1, 8, 8, 8))
    coin[..., :2] = 0.5
    monkeypatch.setattr(markov_text, "chains", lambda *options: coin)
    assert entropy_rate(1) == pytest.approx(np.log(2))
    text = np.array([[0, 1, 1, 0, 1]])
    assert smallest_losses(text, 1) == pytest.approx([np.log(2)] * 2)
    # The second dialect speaks the first character alone.
    mute = np.zeros((1, 8, 8, 8))
    mute[..., 0] = 1
    monkeypatch.setattr(markov_text, "chains", lambda *options: np.concatenate([coin, mute]))
    assert entropy_rate(2) == pytest.approx(np.log(2) / 2)
    # Joint probabilities of 0, 00, 000, 0000: (2^-t + 1) / 2. After two zeros alone, the mute
    # dialect has the probability 4/5.
    joint = [(0.5**t + 1) / 2 for t in (1, 2, 3, 4)]
    with_all, with_two = smallest_losses(np.zeros((1, 4)), 2)
    assert with_all == pytest.approx(-np.log(joint[3] / joint[0]) / 3)
    assert with_two == pytest.approx(-(np.log(joint[1] / joint[0]) + 2 * np.log(0.9)) / 3)


def test_the_smallest_losses_of_the_test_set():
    """With one dialect they are the chain's entropy and that of the second character; with more,
    the characters before the last two tell dialects apart.
    """
    found = {}
    for dialects, distance in ((1, 0.5), (8, 0), (8, 0.25), (8, 0.5)):
        text = read_markov_text(Path(), dialects=dialects, dialect_distance=distance).test_inputs
        found[dialects, distance] = smallest_losses(text, dialects, distance)
    for one in ((1, 0.5), (8, 0)):
        with_all, with_two = found[one]
        assert with_all == pytest.approx(with_two)
        assert with_all == pytest.approx(entropy_rate(*one), abs=0.04)
    for several in ((8, 0.25), (8, 0.5)):
        with_all, with_two = found[several]
        assert entropy_rate(*several) < with_all < with_two < np.log(8)
    assert found[1, 0.5][0] == pytest.approx(1.279, abs=5e-4)
    assert found[8, 0.5] == pytest.approx([1.337, 1.665], abs=5e-4)


def test_options_of_a_run_decide_the_text(tmp_path):
    spec = resolve({**TEXT, "dialects": 1, "dialect_distance": 0.25})
    data = loading.load("markov_text", tmp_path, run=spec)
    expected = read_markov_text(tmp_path, dialects=1, dialect_distance=0.25)
    assert np.array_equal(data.train_inputs.numpy(), expected.train_inputs)
    default = loading.load("markov_text", tmp_path)
    same = loading.load("markov_text", tmp_path, run=resolve(TEXT))
    assert (default.train_inputs == same.train_inputs).all()
    assert (default.train_inputs != data.train_inputs).any()
    assert resolve(TEXT).id != spec.id
    assert resolve(TEXT).partition_id == spec.partition_id


def test_authors_own_their_samples(tmp_path):
    assert sample_owners("markov_text", tmp_path).tolist() == [[k % 16] for k in range(16_000)]
    labels = loading.train_labels("markov_text", tmp_path)
    assert labels.tolist() == loading.load("markov_text", tmp_path).labels.tolist()
