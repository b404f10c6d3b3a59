import ctypes

import pytest
import torch

from ngo.native import build
from ngo.native.pool import in_order, threads
from ngo.native.shared_work import SHARE, fits, share


def counted(call):
    """The value of the counter that ``call`` gets."""
    return ctypes.cast(call, ctypes.POINTER(ctypes.c_int64)).contents


def test_contiguous_float32_on_a_cpu_fits():
    X = torch.zeros(4, 6)
    assert fits(X, X, X) == build.available()
    for other in (X.double(), torch.zeros(6, 4).T, X.to("meta")):
        assert not fits(X, other)


@pytest.mark.parametrize(("shares", "calls"), [(0.1, 1), (1, 1), (1.1, 2), (9, 3)])
def test_as_many_threads_as_the_elements_need_share_a_counter(shares, calls):
    seen = []

    def call(taken, work):
        seen.append((counted(taken), work))
        while len(seen) < calls:  # the others start
            pass
        counted(taken).value += 1

    share(call, int(shares * SHARE), 64, threads(3))
    assert len(seen) == len({work for _, work in seen}) == calls
    assert {taken.value for taken, _ in seen} == {calls}


def test_when_all_is_claimed_no_further_call_is_made():
    seen = []
    share(lambda taken, work: seen.append(work), 9 * SHARE, 64, in_order)
    assert len(seen) == 1
