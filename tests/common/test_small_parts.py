"""Small parts that all packages use."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from ngo.common import versions
from ngo.common.seeding import numpy_stream, stream_seed, torch_stream
from ngo.common.usual_words import usual
from ngo.training.spec import FIELDS

KEY = st.tuples(
    st.integers(0, 50), st.sampled_from(["init", "batches", "dropout"]), st.integers(0, 63)
)


@given(KEY, KEY)
def test_streams_differ_exactly_when_their_keys_do(a, b):
    assert (stream_seed(*a) == stream_seed(*b)) == (a == b)


def test_a_stream_does_not_depend_on_what_was_drawn_before():
    expected = torch.rand(5, generator=torch_stream(1, "a"))
    torch.manual_seed(99)
    torch.rand(100, generator=torch_stream(1, "b"))
    assert torch.equal(torch.rand(5, generator=torch_stream(1, "a")), expected)
    assert numpy_stream(1, "a").integers(1 << 30) == numpy_stream(1, "a").integers(1 << 30)


def test_seeds_are_the_same_on_every_machine():
    assert stream_seed(0, "init") == 2434554855615985730
    assert stream_seed(3, "batches", 7) == 3907257310841674542


def test_another_build_of_a_version_is_the_same_version():
    here = versions.installed()
    assert versions.others({"versions": {"torch": f"{here['torch']}+cpu", "python": "2.7"}}) == ""
    assert versions.others({"versions": {"torch": "1.0+cpu", "numpy": "1.1"}}) == (
        "numpy 1.1, torch 1.0"
    )
    assert versions.others({}) == ""
    assert versions.recorded({"versions": {"torch": "1.0+cpu", "ngo": "3"}}) == {"torch": "1.0"}


def test_usual_words_are_known():
    assert usual("step_size", FIELDS) == ["lr", "gamma"]
    assert usual("num_workers", FIELDS) == ["workers"]
    assert usual("learning_rate", ["u"]) == usual("momentun", FIELDS) == []
