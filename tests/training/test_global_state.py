import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from ngo.common.devices import deterministic
from ngo.training.global_state import isolated, restored_streams, streams


def everything():
    return (
        streams(),
        torch.get_default_dtype(),
        torch.get_default_device(),
        torch.is_grad_enabled(),
        torch.is_autocast_enabled("cpu"),
        torch.get_num_threads(),
        sys.getswitchinterval(),
    )


def drawn():
    return random.random(), np.random.rand(), float(torch.rand(()))


@pytest.fixture
def unusual():
    """Global state unlike the default."""
    before = torch.get_default_dtype(), torch.get_num_threads(), sys.getswitchinterval()
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(2)
    sys.setswitchinterval(0.02)
    torch.set_default_device("meta")
    with torch.inference_mode(), torch.autocast("cpu"):
        yield everything()
    torch.set_default_device(None)
    sys.setswitchinterval(before[2])
    torch.set_num_threads(before[1])
    torch.set_default_dtype(before[0])


def test_a_block_has_state_of_its_own(unusual):
    with isolated(1):
        assert torch.get_default_dtype() == torch.float32
        assert torch.ones(1).device.type == "cpu"
        assert torch.is_grad_enabled()
        assert not torch.is_autocast_enabled("cpu")
        assert not torch.is_inference_mode_enabled()
        assert torch.get_num_threads() == 1
        assert sys.getswitchinterval() < 0.001
    assert everything() == unusual


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_everything_is_restored_after_an_error(unusual, error):
    def fail():
        drawn()
        raise error

    with pytest.raises(error), isolated(1):
        fail()
    assert everything() == unusual


def test_the_seed_decides_all_streams():
    with isolated(1):
        first = drawn()
    drawn()
    with isolated(1):
        assert drawn() == first
    with isolated(2):
        assert not set(drawn()) & set(first)


def test_blocks_in_threads_are_what_they_are_alone(unusual):
    def block(seed):
        with isolated(seed):
            first = drawn()
            time.sleep(0.05)  # another thread would go on here
            return first, drawn(), torch.get_default_dtype()

    alone = [block(seed) for seed in range(3)]
    before = everything()
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(block, range(3))) == alone
    assert everything() == before


@pytest.mark.parametrize("draw", [random.random, np.random.rand, lambda: torch.rand(())])
def test_every_draw_is_noticed_and_taken_back(draw):
    before = streams()
    with restored_streams():
        draw()
        assert streams() != before
    assert streams() == before


def test_what_fit_sets_for_a_gpu_is_the_callers_again():
    before = torch.backends.cudnn.conv.fp32_precision
    with isolated(1):
        deterministic()
        assert torch.backends.cudnn.conv.fp32_precision == "ieee"
        assert torch.are_deterministic_algorithms_enabled()
    assert torch.backends.cudnn.conv.fp32_precision == before
    assert not torch.are_deterministic_algorithms_enabled()
