import threading
import time
import weakref

import pytest

from ngo import kernels, pool


@pytest.fixture(params=[True, False], ids=["compiled", "not compiled"])
def compiled(request, monkeypatch):
    """With and without kernels.c, whose threads look for work before they sleep."""
    if request.param and kernels.march() == "none":
        pytest.skip("NGO_MARCH=none: there are no kernels")
    monkeypatch.setattr(kernels, "available", lambda: request.param)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_map_gives_each_result_its_place(compiled, count):
    spread = pool.threads(count)
    for k in (0, 1, 2, 3, 100):
        for _ in range(20):
            assert spread(lambda i: i * i, k) == [i * i for i in range(k)]


def test_threads_do_the_work_at_the_same_time(compiled):
    both = threading.Barrier(2, timeout=60)
    here = pool.threads(2)(lambda i: (both.wait(), threading.get_ident())[1], 2)
    assert len(set(here)) == 2
    assert threading.get_ident() in here


def test_a_helper_that_slept_wakes(compiled):
    spread = pool.threads(2)
    both = threading.Barrier(2, timeout=60)
    for _ in range(3):
        time.sleep(0.01)  # longer than it looks for work
        assert spread(lambda i: both.wait() >= 0, 2) == [True, True]


@pytest.mark.parametrize("who", ["asks", "helps"])
def test_an_error_is_raised_where_the_work_was_asked_for(compiled, who):
    spread = pool.threads(2)
    both = threading.Barrier(2, timeout=60)

    def fail(i):
        both.wait()
        if (threading.current_thread() is threading.main_thread()) == (who == "asks"):
            raise KeyboardInterrupt(who)
        return i

    for _ in range(2):  # and the threads go on
        with pytest.raises(KeyboardInterrupt, match=who):
            spread(fail, 2)
    assert spread(lambda i: i, 3) == [0, 1, 2]


def test_helpers_end_with_their_map_and_keep_nothing(compiled):
    class Tensor:
        """What the work holds."""

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


def test_that_nothing_could_be_compiled_is_said_once(monkeypatch, tmp_path, capsys):
    def fail(path):
        time.sleep(0.1)  # long enough for all helpers to ask meanwhile
        raise OSError("no compiler")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("NGO_MARCH", "native")
    monkeypatch.setattr(kernels, "_compile", fail)
    kernels._library.cache_clear()
    try:
        assert pool.threads(5)(lambda i: i, 5) == list(range(5))
    finally:
        kernels._library.cache_clear()
    assert capsys.readouterr().err.count("was not compiled") == 1
