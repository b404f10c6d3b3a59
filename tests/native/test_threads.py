"""Threads that share work."""

import threading
import time
import weakref

import pytest

from ngo.native import build, threads


@pytest.fixture(params=[True, False], ids=["compiled", "not compiled"])
def compiled(request, monkeypatch):
    """With the compiled library, whose threads spin before they sleep, and without it."""
    if request.param and build.march() == "none":
        pytest.skip("NGO_MARCH=none")
    monkeypatch.setattr(threads, "available", lambda: request.param)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_map_returns_results_in_order(compiled, count):
    spread = threads.threads(count)
    for k in (0, 1, 2, 3, 100):
        for _ in range(20):
            assert spread(lambda i: i * i, k) == [i * i for i in range(k)]


def test_threads_work_at_the_same_time(compiled):
    both = threading.Barrier(2, timeout=60)
    here = threads.threads(2)(lambda i: (both.wait(), threading.get_ident())[1], 2)
    assert len(set(here)) == 2
    assert threading.get_ident() in here


@pytest.mark.parametrize("who", ["caller", "helper"])
def test_an_error_is_raised_in_the_calling_thread(compiled, who):
    spread = threads.threads(2)
    both = threading.Barrier(2, timeout=60)

    def fail(i):
        both.wait()
        if (threading.current_thread() is threading.main_thread()) == (who == "caller"):
            raise KeyboardInterrupt(who)
        return i

    for _ in range(2):  # the threads survive it
        with pytest.raises(KeyboardInterrupt, match=who):
            spread(fail, 2)
    assert spread(lambda i: i, 3) == [0, 1, 2]


def test_helpers_end_with_their_map_and_keep_no_references(compiled):
    class Tensor:
        """An object that the work refers to."""

    tensor = Tensor()
    kept = weakref.ref(tensor)
    before = set(threading.enumerate())
    spread = threads.threads(3)
    helpers = set(threading.enumerate()) - before
    assert len(helpers) == 2
    assert spread(lambda i, tensor=tensor: i, 3) == [0, 1, 2]
    del tensor
    deadline = time.monotonic() + 60
    while kept() is not None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert kept() is None
    del spread
    for helper in helpers:
        helper.join(deadline - time.monotonic())
        assert not helper.is_alive()
