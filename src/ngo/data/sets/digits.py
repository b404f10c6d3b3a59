"""scikit-learn's handwritten digits in MNIST's format: a data set that needs no download."""

import gzip
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from ngo.common.lazy import torch
from ngo.common.seeding import numpy_stream
from ngo.data.dataset import Arrays, dataset

TRAIN = 1437  # 80 % of the 1,797 images


def digits_table() -> np.ndarray:
    """The 8 × 8 images in a fixed random order, uint8 ``[1797, 65]``: 64 pixels and the label.

    The file is read from scikit-learn's folder, because importing ``sklearn.datasets`` takes as
    long as importing torch.
    """
    folder = find_spec("sklearn").submodule_search_locations[0]
    with gzip.open(Path(folder, "datasets", "data", "digits.csv.gz")) as file:
        table = np.loadtxt(file, delimiter=",", dtype=np.uint8)
    # The rows are sorted by writer. Shuffled, the first rows can be the training set.
    return table[numpy_stream(0, "digits/split").permutation(len(table))]


@cache
def digits_images() -> tuple[np.ndarray, np.ndarray]:
    """The images, resized from 8 × 8 to 28 × 28 (bilinear), with 256 grey levels for 17: uint8
    ``[1797, 1, 28, 28]``; and their labels, int64.
    """
    table = digits_table()
    small = torch.from_numpy(table[:, :64]).view(-1, 1, 8, 8).float() * (255 / 16)
    images = torch.nn.functional.interpolate(small, (28, 28), mode="bilinear").round().byte()
    return images.numpy(), table[:, 64].astype(np.int64)


@dataset(
    "digits",
    read_labels=lambda root: digits_table()[:TRAIN, 64],
    train_samples=TRAIN,
    input_shape=(1, 28, 28),
    classes=10,
    stands_in_for="mnist",
)
def read_digits(root: Path) -> Arrays:
    """The images and labels; the first 80 % are the training set."""
    images, labels = digits_images()
    return Arrays(images[:TRAIN], labels[:TRAIN], images[TRAIN:], labels[TRAIN:])
