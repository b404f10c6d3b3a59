"""Random numbers of many workers on a GPU, beside SplitMix64 in NumPy's integers of 64 bits."""

import os
import sys
from statistics import NormalDist

import numpy as np
import pytest
import torch
from running import finished, start

from ngo.data.augmentation import PADDING, draw_windows
from ngo.native.card_streams import HASH, STEP, CardStreams

DRAWN = """
import sys, torch
from ngo.native.triton_kernels import uniform

torch.save([uniform(*draw) for draw in torch.load(sys.argv[1])], sys.argv[1])
"""


def words(state, count):
    """The next numbers of one stream, uint64 ``[count]``, one after another."""
    found = []
    with np.errstate(over="ignore"):
        z = np.array(state).astype(np.uint64)
        for _ in range(count):
            z = z + np.uint64(STEP)
            word = z
            for shift, factor in HASH:
                word = (word ^ (word >> np.uint64(shift))) * np.uint64(factor)
            found.append(word)
    return np.array(found)


def numbers(state, count):
    return torch.from_numpy(((words(state, count) >> np.uint64(41)) + 0.5) * 2.0**-23).float()


def test_the_reference_is_splitmix64():
    """As printed at https://rosettacode.org/wiki/Pseudo-random_numbers/Splitmix64."""
    assert words(1234567, 3).tolist() == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


def test_each_stream_goes_on_where_its_last_draw_ended():
    streams = CardStreams.of(0, "noise", range(4), "cpu")
    expected = [numbers(int(state), 40) for state in streams.state]
    first, rest = streams.uniform((2, 5)), CardStreams(streams.state, [2, 0]).uniform((30,))
    assert first.shape == (4, 2, 5)
    assert torch.equal(first.flatten(1), torch.stack(expected)[:, :10])
    assert torch.equal(rest, torch.stack([expected[2][10:], expected[0][10:]]))
    one = CardStreams(CardStreams.of(0, "noise", [2], "cpu").state[0])
    assert torch.equal(one.uniform((40,)), expected[2])
    assert one.get_state() == streams.state[2]
    some = CardStreams(streams.state, [3, 1])
    some.set_state(CardStreams.of(0, "noise", [2, 0], "cpu").state)
    assert torch.equal(some.uniform((40,))[0], expected[2])


def test_joined_streams_are_those_of_their_parts():
    parts, alone = ([CardStreams.of(seed, "a", range(2), "cpu") for seed in (0, 1)] for _ in "ab")
    joined = CardStreams.joined(parts).uniform((3,))
    assert torch.equal(joined, torch.cat([part.uniform((3,)) for part in alone]))
    for part, same in zip(parts, alone, strict=True):
        assert torch.equal(part.uniform((2,)), same.uniform((2,)))


def test_numbers_are_uniform_normal_and_independent():
    streams = CardStreams.of(3, "noise", range(20), "cpu")
    drawn = streams.uniform((5000,))
    assert drawn.min() > 0
    assert drawn.max() < 1
    counted = torch.histc(drawn, 100, 0, 1)
    assert ((counted - 1000) ** 2 / 1000).sum() < 149  # chi-squared, 99 degrees, 0.1 %
    apart = torch.corrcoef(drawn).fill_diagonal_(0)
    assert apart.abs().max() < 5 / 5000**0.5
    normal = streams.normal((5000,)).double()
    assert normal.mean().abs() < 4 / 1e5**0.5
    assert abs(normal.var() - 1) < 4 * (2 / 1e5) ** 0.5
    assert abs((normal**4).mean() - 3) < 4 * (96 / 1e5) ** 0.5
    extremes = torch.tensor([2.0**-24, 0.5, 1 - 2.0**-24])
    streams.uniform = lambda shape: extremes
    largest = NormalDist().inv_cdf(2.0**-24)
    assert streams.normal(()).tolist() == pytest.approx([largest, 0, -largest])


def test_windows_of_many_workers_have_all_places_equally_often():
    b, sides = 3000, 2 * PADDING + 1
    places, flipped = draw_windows(b, CardStreams.of(0, "augmentation", range(3), "cpu"))
    own = draw_windows(b, CardStreams.of(0, "augmentation", [1], "cpu"))
    assert torch.equal(places[:, b : 2 * b], own[0])
    assert torch.equal(flipped[b : 2 * b], own[1])
    assert places.shape == (2, 3 * b)
    counted = torch.bincount(places[0] * sides + places[1], minlength=sides**2).double()
    expected = 3 * b / sides**2
    assert ((counted - expected) ** 2 / expected).sum() < 125  # 80 degrees, 0.1 %
    assert abs(flipped.double().mean() - 0.5) < 4 * 0.5 / (3 * b) ** 0.5
    assert int(torch.tensor(1 - 2.0**-24) * sides) == sides - 1


def test_the_triton_kernel_draws_the_same_numbers(tmp_path):
    """In Triton's interpreter, which needs no GPU: several programs for each stream."""
    pytest.importorskip("triton")
    state = CardStreams.of(0, "noise", range(5), "cpu").state
    state[3] = -1
    draws = [(state, 2500), (state[1], 7), (state[::2], 1024)]
    torch.save(draws, path := tmp_path / "draws.pt")
    command = [sys.executable, "-c", DRAWN, path]
    finished(start(command, env={**os.environ, "TRITON_INTERPRET": "1"}))
    for (given, count), drawn in zip(draws, torch.load(path), strict=True):
        assert torch.equal(drawn, CardStreams(given.clone()).uniform((count,)))
