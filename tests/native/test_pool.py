"""Threads that share work."""

import ctypes
import threading
import time
import weakref

import pytest

from ngo.native import build, pool
from ngo.native.pool import threads
from ngo.native.shared_work import SHARE, share


@pytest.fixture(params=[True, False], ids=["compiled", "not compiled"])
def compiled(request, monkeypatch):
    """With the compiled library, whose threads spin before they sleep, and without it."""
    if request.param and build.march() == "none":
        pytest.skip("NGO_MARCH=none")
    monkeypatch.setattr(build, "available", lambda: request.param)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_map_returns_results_in_order(compiled, count):
    spread = pool.threads(count)
    for k in (0, 1, 2, 3, 100):
        for _ in range(20):
            assert spread(lambda i: i * i, k) == [i * i for i in range(k)]


def test_threads_work_at_the_same_time(compiled):
    both = threading.Barrier(2, timeout=60)
    here = pool.threads(2)(lambda i: (both.wait(), threading.get_ident())[1], 2)
    assert len(set(here)) == 2
    assert threading.get_ident() in here


@pytest.mark.parametrize("who", ["caller", "helper"])
def test_an_error_is_raised_in_the_calling_thread(compiled, who):
    spread = pool.threads(2)
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
    spread = pool.threads(3)
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


def test_a_failed_compilation_is_logged_once(monkeypatch, tmp_path, caplog):
    def fail(sources, path):
        time.sleep(0.1)  # long enough for all helpers to ask in the meantime
        raise OSError("no compiler")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("NGO_MARCH", "native")
    monkeypatch.setattr(build, "compile_sources", fail)
    build.library.cache_clear()
    try:
        assert pool.threads(5)(lambda i: i, 5) == list(range(5))
    finally:
        build.library.cache_clear()
    assert caplog.text.count("could not be compiled") == 1


@pytest.mark.skipif(build.march() == "none", reason="NGO_MARCH=none")
def test_waiting_ends_with_a_change_or_after_a_while():
    count = ctypes.c_int64(3)
    start = time.monotonic()
    pool.wait(count, 2)  # it differs already
    pool.wait(count, 3)
    assert time.monotonic() - start < 10


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
