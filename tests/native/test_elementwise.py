"""Chains of elementwise operations: as in torch, for any shapes, threads and numbers."""

import random
import threading
import time
import weakref

import pytest
import torch

from ngo.common.seeding import torch_stream
from ngo.native import build
from ngo.native import threads as shared
from ngo.native.elementwise import elementwise
from ngo.native.threads import in_order, threads

OPERATIONS = {
    "copy_": lambda x, y, w, s: x.copy_(y),
    "add_": lambda x, y, w, s: x.add_(y, alpha=s),
    "sub_": lambda x, y, w, s: x.sub_(y, alpha=s).sub_(0.5),
    "mul_": lambda x, y, w, s: x.mul_(y).mul_(s),
    "div_": lambda x, y, w, s: x.div_(y * y + 1),
    "addcmul_": lambda x, y, w, s: x.addcmul_(y, w, value=s),
    "addcdiv_": lambda x, y, w, s: x.addcdiv_(w, y * y + 1, value=s),
    "lerp_": lambda x, y, w, s: x.lerp_(y, s),
    "sqrt": lambda x, y, w, s: x.copy_((y * y + w * w).sqrt()),
    "in turn": lambda x, y, w, s: x.copy_((x - y) * w + x / (w * w + s * s) - s),
}


@pytest.mark.parametrize("seed", range(8))
def test_chains_are_those_of_torch_in_float64(seed):
    """100 random chains of random shapes: contiguous, with wider rows, with columns."""
    draw, spread = random.Random(seed), in_order
    for k in range(100):
        n, d = draw.randint(1, 5), draw.choice([1, 2, 15, 16, 17, draw.randint(1, 1200)])
        wide = torch.randn(3, n, d + 3, generator=torch_stream(1000 * seed + k, "matrices"))
        matrices = [m[:, 1 : d + 1] if draw.random() < 0.3 else m[:, :d].clone() for m in wide]
        column = torch.randn(n, 1, generator=torch_stream(k, "column"))
        exact = [m.double() for m in matrices]
        chains, exactly = [], []
        for _ in range(draw.randint(1, 4)):
            name, s = draw.choice(list(OPERATIONS)), draw.uniform(-2, 2)
            i, j, w = draw.randrange(3), draw.randrange(3), draw.randrange(4)

            def f(x, y, w, name=name, s=s):
                OPERATIONS[name](x, y, w, s)

            chains.append((f, matrices[i], matrices[j], [*matrices, column][w]))
            exactly.append((f, exact[i], exact[j], [*exact, column.double()][w]))
        elementwise(*chains, spread=spread)
        elementwise(*exactly, spread=spread)
        for found, expected in zip(matrices, exact, strict=True):
            size = max(1.0, float(max(m.abs().max() for m in exact)))
            assert (found - expected).abs().max() < 1e-4 * size


@pytest.mark.parametrize("width", [60_000, 60_003])
def test_bytes_are_the_same_for_any_number_of_threads(width):
    def chain(x, y, w):
        x.addcmul_(y, w, value=0.3).div_(y * y + 1)
        y.lerp_(x, 0.7)

    found = []
    for spread in (in_order, threads(2), threads(3)):
        generator = torch_stream(0, "matrices")
        x, y = torch.randn(2, 7, width, generator=generator)[:, :, :60_000]
        elementwise((chain, x, y, torch.randn(7, 1, generator=generator)), spread=spread)
        found.append((x.clone(), y.clone()))
    for x, y in found[1:]:
        assert torch.equal(x, found[0][0])
        assert torch.equal(y, found[0][1])


@pytest.mark.skipif(build.march() == "none", reason="NGO_MARCH=none")
def test_what_the_compiled_code_does_not_take_is_left_to_torch():
    """It would record an exponential; torch has it."""

    def f(x):
        x.exp_()

    for x in (torch.zeros(2, 3).double(), torch.zeros(3, 2).T):
        elementwise((f, x), spread=in_order)
        assert (x == 1).all()
    with pytest.raises(AttributeError, match="exp_"):
        elementwise((f, torch.zeros(2, 3)), spread=in_order)


# Threads that share work.


@pytest.fixture(params=[True, False], ids=["compiled", "not compiled"])
def compiled(request, monkeypatch):
    """With the compiled library, whose threads spin before they sleep, and without it."""
    if request.param and build.march() == "none":
        pytest.skip("NGO_MARCH=none")
    if not request.param:
        monkeypatch.setattr(shared, "library", lambda: None)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_map_returns_results_in_order(compiled, count):
    spread = shared.threads(count)
    for k in (0, 1, 2, 3, 100):
        for _ in range(20):
            assert spread(lambda i: i * i, k) == [i * i for i in range(k)]


def test_threads_work_at_the_same_time(compiled):
    both = threading.Barrier(2, timeout=60)
    here = shared.threads(2)(lambda i: (both.wait(), threading.get_ident())[1], 2)
    assert len(set(here)) == 2
    assert threading.get_ident() in here


@pytest.mark.parametrize("who", ["caller", "helper"])
def test_an_error_is_raised_in_the_calling_thread(compiled, who):
    spread = shared.threads(2)
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
    spread = shared.threads(3)
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
