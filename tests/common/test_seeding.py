"""Streams of random numbers."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from ngo.common.seeding import numpy_stream, stream_seed, torch_stream

KEY = st.tuples(
    st.integers(0, 50), st.sampled_from(["init", "batches", "dropout"]), st.integers(0, 63)
)


@given(KEY, KEY)
def test_streams_differ_exactly_when_their_keys_do(a, b):
    assert (stream_seed(*a) == stream_seed(*b)) == (a == b)


def test_streams_are_the_same_on_every_machine_whatever_was_drawn_before():
    expected = torch.rand(5, generator=torch_stream(1, "a"))
    torch.manual_seed(99)
    torch.rand(100, generator=torch_stream(1, "b"))
    assert torch.equal(torch.rand(5, generator=torch_stream(1, "a")), expected)
    assert numpy_stream(1, "a").integers(1 << 30) == numpy_stream(1, "a").integers(1 << 30)
    assert stream_seed(0, "init") == 2434554855615985730
    assert stream_seed(3, "batches", 7) == 3907257310841674542
