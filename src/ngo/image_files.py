"""The image data sets that are released as a few large files: MNIST, CIFAR-10, and the digits.

A reader gives four arrays: training images, uint8 ``[m, c, h, w]``, and labels, int64 ``[m]``, then
those of the test set.
"""

import gzip
import pickle
import zlib
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from ngo.registry import UserError
from ngo.seeding import numpy_stream

DIGITS_TRAIN = 1437  # 80 % of the 1,797 images
_MNIST = "MNIST/raw"
MNIST_FILES = {
    f"{_MNIST}/train-images-idx3-ubyte": (
        "6bbc9ace898e44ae57da46a324031adb",
        "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    ),
    f"{_MNIST}/train-labels-idx1-ubyte": (
        "a25bea736e30d166cdddb491f175f624",
        "d53e105ee54ea40749a09fcbcd1e9432",
    ),
    f"{_MNIST}/t10k-images-idx3-ubyte": (
        "2646ac647ad5339dbf082846283269ea",
        "9fb629c4189551a2d022fa330f9573f3",
    ),
    f"{_MNIST}/t10k-labels-idx1-ubyte": (
        "27ae3e4e09519cfbb04c329615203637",
        "ec29112dd5afa0611ce80d1b7f02629c",
    ),
}
_CIFAR10 = "cifar-10-batches-py"
_CIFAR10_TRAIN = [f"data_batch_{i}" for i in range(1, 6)]
CIFAR10_FILES = {
    f"{_CIFAR10}/data_batch_1": ("c99cafc152244af753f735de768cd75f",),
    f"{_CIFAR10}/data_batch_2": ("d4bba439e000b95fd0a9bffe97cbabec",),
    f"{_CIFAR10}/data_batch_3": ("54ebc095f3ab1f0389bbae665268c751",),
    f"{_CIFAR10}/data_batch_4": ("634d18415352ddfa80567beed471001a",),
    f"{_CIFAR10}/data_batch_5": ("482c414d41f54cd18b22e5b47cb7c3cb",),
    f"{_CIFAR10}/test_batch": ("40351d587109b95175f43aff81a1287e",),
    f"{_CIFAR10}/batches.meta": ("5ff9c542aee3614f3951f8cda6e48888",),
}

ImageSet = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def digits(root: Path) -> ImageSet:
    """scikit-learn's 8 × 8 images with 17 grey levels, resized (bilinear) to 28 × 28 with 256."""
    import torch

    table, cut = digits_table(), DIGITS_TRAIN
    small = torch.from_numpy(table[:, :64]).view(-1, 1, 8, 8).float() * (255 / 16)
    images = torch.nn.functional.interpolate(small, (28, 28), mode="bilinear").round().byte()
    images, labels = images.numpy(), table[:, 64].astype(np.int64)
    return images[:cut], labels[:cut], images[cut:], labels[cut:]


def digits_labels(root: Path) -> np.ndarray:
    """The labels of the training digits."""
    return digits_table()[:DIGITS_TRAIN, 64].astype(np.int64)


def digits_table() -> np.ndarray:
    """scikit-learn's bundled handwritten digits, uint8 ``[1797, 65]``: 64 pixels and the label.

    Read from the package's folder: importing ``sklearn.datasets`` costs as much as torch itself.
    """
    folder = find_spec("sklearn").submodule_search_locations[0]
    with gzip.open(Path(folder, "datasets", "data", "digits.csv.gz")) as file:
        table = np.loadtxt(file, delimiter=",", dtype=np.uint8)
    # The file is ordered by writer: a fixed permutation makes its ends train and test sets.
    return table[numpy_stream(0, "digits/split").permutation(len(table))]


def mnist(root: Path) -> ImageSet:
    """MNIST's idx files."""
    return (
        read_idx(root / _MNIST / "train-images-idx3-ubyte")[:, None],
        mnist_labels(root),
        read_idx(root / _MNIST / "t10k-images-idx3-ubyte")[:, None],
        read_idx(root / _MNIST / "t10k-labels-idx1-ubyte").astype(np.int64),
    )


def mnist_labels(root: Path) -> np.ndarray:
    """The labels of MNIST's training images."""
    return read_idx(root / _MNIST / "train-labels-idx1-ubyte").astype(np.int64)


def mnist_download(root: Path) -> None:
    """Fetch MNIST's files."""
    from torchvision.datasets import MNIST

    MNIST(root, download=True)


def cifar10(root: Path) -> ImageSet:
    """CIFAR-10's python batches."""
    return *_batches(root, _CIFAR10_TRAIN), *_batches(root, ["test_batch"])


def cifar10_labels(root: Path) -> np.ndarray:
    """The labels of CIFAR-10's training images."""
    return _batches(root, _CIFAR10_TRAIN)[1]


def cifar10_download(root: Path) -> None:
    """Fetch and extract CIFAR-10's archive."""
    from torchvision.datasets import CIFAR10

    CIFAR10(root, download=True)


def _batches(root: Path, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    images, labels = zip(*(read_batch(root / _CIFAR10 / name) for name in names), strict=True)
    return np.concatenate(images), np.concatenate(labels)


def plain_or_compressed(path: Path) -> Path | None:
    """``path`` or, where only that is there, ``path.gz``; None if neither is."""
    return next((p for p in (path, Path(f"{path}.gz")) if p.is_file()), None)


def read_idx(path: Path) -> np.ndarray:
    """An array in the idx format of the MNIST files, plain or with ``.gz``, as uint8.

    Format: two zero bytes, the type (8 = unsigned byte), the number of dimensions, each dimension
    as a big-endian int32, the data.
    """
    found = plain_or_compressed(path)
    if found is None:
        raise UserError(f"data.root: there is no {str(path)!r}, nor {path.name}.gz beside it")
    try:
        with (gzip.open if found.suffix == ".gz" else open)(found, "rb") as file:
            content = file.read()
        zero, kind, dimensions = int.from_bytes(content[:2], "big"), content[2], content[3]
        shape = np.frombuffer(content, ">i4", dimensions, offset=4)
        data = np.frombuffer(content, np.uint8, offset=4 + 4 * dimensions)
        if (zero, kind) != (0, 8) or data.size != shape.prod(dtype=np.int64):
            raise ValueError("the header does not describe the content")
    except (EOFError, IndexError, OSError, ValueError, zlib.error) as error:
        raise UserError(f"data.root: {str(found)!r} is no idx file of bytes: {error}") from None
    return data.reshape(shape).copy()


def read_batch(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Images, uint8 ``[m, 3, 32, 32]``, and labels, int64 ``[m]``, of a CIFAR-10 python batch."""
    try:
        with path.open("rb") as file:
            batch = _ArrayUnpickler(file, encoding="bytes").load()
    except pickle.UnpicklingError as error:
        raise UserError(f"data.root: {str(path)!r} is no CIFAR-10 batch: {error}") from None
    return batch[b"data"].reshape(-1, 3, 32, 32), np.array(batch[b"labels"], np.int64)


_ALLOWED = {
    "numpy.ndarray": np.ndarray,
    "numpy.dtype": np.dtype,
    "numpy.core.multiarray._reconstruct": np.empty(0).__reduce__()[0],
}


class _ArrayUnpickler(pickle.Unpickler):
    """Unpickles numpy arrays in plain containers, and calls nothing else that a file names."""

    def find_class(self, module: str, name: str) -> object:
        try:
            return _ALLOWED[f"{module}.{name}"]
        except KeyError:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}") from None
