import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]


@pytest.fixture
def mnist_root() -> Path:
    """A folder with the real MNIST files; the test is skipped where there is none."""
    places = [os.environ.get("NGO_DATA"), REPOSITORY / "data", REPOSITORY.parent / "shared/data"]
    for place in filter(None, places):
        if list(Path(place).glob("MNIST/raw/train-images-idx3-ubyte*")):
            return Path(place)
    pytest.skip("no MNIST: set NGO_DATA to a folder that holds MNIST/raw")
