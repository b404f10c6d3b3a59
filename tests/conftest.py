import os
import struct
from pathlib import Path

import numpy as np
import pytest
import running
import torch
from hypothesis import settings

from ngo import pool
from ngo.backends import Stacked
from ngo.models import MODELS
from ngo.seeding import torch_stream

# What a test takes is no matter: machines are busy.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# As in a run: threads inside operations are slower than none where cores are shared.
torch.set_num_threads(1)

REPOSITORY = Path(__file__).parents[1]

# The configs that are shipped, the base first; a user's own may lie beside them.
CONFIGS = [REPOSITORY / f"config/{name}.yaml" for name in ("config", "cifar10", "demo", "laptop")]


def real(pattern: str) -> Path:
    """A data root with files like ``pattern``; the test is skipped where there is none."""
    places = [os.environ.get("NGO_DATA"), REPOSITORY / "data", REPOSITORY.parent / "shared/data"]
    for place in filter(None, places):
        if any(Path(place).glob(pattern)):
            return Path(place)
    pytest.skip(f"no {pattern}: set NGO_DATA to a folder that holds it")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """With ``--numprocesses auto``, one process more than there are cores: some tests only wait."""
    return pool.cores() + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The pipeline's tests come first: each of these files takes longest."""
    items.sort(key=lambda item: item.path.parent.name != "workflow")


@pytest.fixture(autouse=True)
def no_process_is_left():
    """What a test started ends with it, also when it fails."""
    yield
    running.kill_all()


@pytest.fixture
def mnist_root() -> Path:
    """A folder with the real MNIST files."""
    return real("MNIST/raw/train-images-idx3-ubyte*")


def idx(array: np.ndarray) -> bytes:
    """An array in the idx format of the MNIST files."""
    head = struct.pack(">HBB", 0, 8, array.ndim) + struct.pack(f">{array.ndim}i", *array.shape)
    return head + array.astype(np.uint8).tobytes()


def gaussian(n: int, d: int = 1, seed: int = 0) -> torch.Tensor:
    """A Gaussian state ``[n, d]``."""
    return torch.randn(n, d, generator=torch_stream(seed, "X"), dtype=torch.float64)


def batch(model: str, n: int, b: int = 4, seed: int = 0, device: str = "cpu") -> Stacked:
    """A batch of ``b`` samples for each of ``n`` workers, drawn on the CPU."""
    generator = torch_stream(seed, "test")
    inputs = torch.rand(n, b, *MODELS[model].input_shape, generator=generator)
    targets = {
        "classification": torch.randint(0, 10, (n, b), generator=generator),
        "vae": (255 * inputs).to(torch.uint8),
        "regression": torch.randn(n, b, 1, generator=generator),
    }[MODELS[model].task]
    return Stacked(inputs.to(device), targets.to(device))
