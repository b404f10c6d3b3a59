import ctypes

import pytest

from ngo.native.pool import threads
from ngo.native.shared_work import SHARE, share


def counted(call):
    """The value of the counter that ``call`` gets."""
    return ctypes.cast(call, ctypes.POINTER(ctypes.c_int64)).contents


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
