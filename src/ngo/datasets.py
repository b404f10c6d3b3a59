"""Data sets, resident in memory as tensors.

A data set is a function that reads numpy arrays from the data root, registered with the facts
that the validation of a config needs. (torch is imported where it is used, so that labels can be
partitioned and names checked without its start-up cost.)
"""

from __future__ import annotations

import gzip
import hashlib
import os
import tempfile
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ngo.files import writable_folder
from ngo.registry import Decorator, Registry, UserError
from ngo.seeding import numpy_stream

if TYPE_CHECKING:
    import torch

DEFAULT_ROOT = "data"
ROOT_VARIABLE = "NGO_DATA"


@dataclass(frozen=True)
class Arrays:
    """Images as uint8 ``[m, channels, height, width]``, labels as int64 ``[m]``."""

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray


@dataclass(frozen=True)
class Source:
    """What is known of a data set before it is read.

    ``files`` maps the files below the data root to the md5 sums of their release, plain and
    compressed: a file may lie there under its name or, as released, with ``.gz``.
    ``download(root)`` fetches them from ``mirror``. ``stands_in_for`` names the data set of the
    paper whose numbers are shown beside this one's.
    """

    read: Callable[[Path], Arrays]
    read_labels: Callable[[Path], np.ndarray]
    train_samples: int
    image_shape: tuple[int, int, int]
    classes: int
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    download: Callable[[Path], None] | None = None
    mirror: str | None = None
    stands_in_for: str | None = None


@dataclass(frozen=True)
class Dataset:
    """Train and test sets on one device: uint8 images ``[m, c, h, w]``, int64 labels ``[m]``.

    ``mean`` and ``std`` are those of the training pixels by channel, ``[c, 1, 1]``, in [0, 1].
    """

    name: str
    classes: int
    train_images: torch.Tensor
    train_labels: torch.Tensor
    test_images: torch.Tensor
    test_labels: torch.Tensor
    mean: torch.Tensor
    std: torch.Tensor

    def normalised(self, images: torch.Tensor) -> torch.Tensor:
        """uint8 images as float32 with the training set's mean 0 and standard deviation 1."""
        return (images.float() / 255 - self.mean) / self.std


DATASETS: Registry[Source] = Registry("dataset")


def dataset(name: str, **facts) -> Decorator:
    """Register a reader ``root → Arrays`` with the facts of a :class:`Source`."""

    def register(read: Callable[[Path], Arrays]) -> Callable[[Path], Arrays]:
        DATASETS.add(name, Source(read=read, **facts))
        return read

    return register


def data_root(given: str | Path | None = None, config: str | Path | None = None) -> Path:
    """The folder that holds the data sets: what is given, else ``NGO_DATA``, else the config's."""
    return Path(given or os.environ.get(ROOT_VARIABLE) or config or DEFAULT_ROOT).expanduser()


def load(name: str, root: Path, device: str | torch.device = "cpu") -> Dataset:
    """The data set as tensors on ``device``, its files verified; downloaded if they are absent."""
    import torch

    arrays = DATASETS[name].read(prepare(name, root))
    mean, std = _moments(arrays.train_images)
    tensors = (arrays.train_images, arrays.train_labels, arrays.test_images, arrays.test_labels)
    return Dataset(
        name,
        DATASETS[name].classes,
        *(torch.from_numpy(array).to(device) for array in tensors),
        *(torch.from_numpy(m.astype(np.float32)).to(device)[:, None, None] for m in (mean, std)),
    )


def train_labels(name: str, root: Path) -> np.ndarray:
    """The labels of the training set, int64 ``[m]``; what a partition needs, without torch."""
    return DATASETS[name].read_labels(prepare(name, root))


def prepare(name: str, root: Path) -> Path:
    """Verify the data set's files below ``root``, downloading absent ones. Returns ``root``.

    A download goes to a temporary folder first: the root holds whole files or none.
    """
    source = DATASETS[name]
    if absent := check(name, root):
        writable_folder(root, "data.root")
        with tempfile.TemporaryDirectory(prefix=".download-", dir=root) as folder:
            try:
                source.download(Path(folder))
            except (OSError, RuntimeError) as error:
                raise _unreachable(name, root, absent) from error
            if failed := verify(name, Path(folder)):
                raise UserError(f"data.root: the download of {name} brought no {failed[0]}")
            for relative in source.files:
                for path in (Path(folder, relative), Path(folder, relative + ".gz")):
                    if path.exists():
                        target = root / path.relative_to(folder)
                        target.parent.mkdir(parents=True, exist_ok=True)
                        path.replace(target)
    return root


def check(name: str, root: Path) -> list[str]:
    """The data set's absent files, which a network is there to fetch; a UserError if one is corrupt
    or there is no network.
    """
    absent = verify(name, root)
    if absent:
        try:
            urllib.request.urlopen(DATASETS[name].mirror, timeout=5).close()
        except urllib.error.HTTPError:
            pass  # the mirror answered: there is a network
        except OSError as error:
            raise _unreachable(name, root, absent) from error
    return absent


def verify(name: str, root: Path) -> list[str]:
    """The data set's absent files; a UserError if one that is there isn't the released one."""
    absent = []
    for relative, released in DATASETS[name].files.items():
        path = _plain_or_compressed(root / relative)
        if path is None:
            absent.append(relative)
        elif (md5 := _md5(path)) not in released:
            raise UserError(
                f"data.root: {str(path)!r} is corrupt or truncated: its md5 is {md5}, the "
                f"release's {' or '.join(released)}. Remove it and run again to fetch it anew."
            )
    return absent


def read_idx(path: Path) -> np.ndarray:
    """An array in the idx format of the MNIST files, plain or with ``.gz``, as uint8.

    Format: two zero bytes, the type (8 = unsigned byte), the number of dimensions, each dimension
    as a big-endian int32, the data.
    """
    found = _plain_or_compressed(path)
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


def _digits_table() -> np.ndarray:
    """scikit-learn's bundled handwritten digits, uint8 ``[1797, 65]``: 64 pixels and the label.

    Read from the package's folder: importing ``sklearn.datasets`` costs as much as torch itself.
    """
    folder = find_spec("sklearn").submodule_search_locations[0]
    with gzip.open(Path(folder, "datasets", "data", "digits.csv.gz")) as file:
        table = np.loadtxt(file, delimiter=",", dtype=np.uint8)
    # The file is ordered by writer: a fixed permutation makes its ends train and test sets.
    return table[numpy_stream(0, "digits/split").permutation(len(table))]


_DIGITS_TRAIN = 1437  # 80 % of the 1,797 images


def _digits_labels(root: Path) -> np.ndarray:
    return _digits_table()[:_DIGITS_TRAIN, 64].astype(np.int64)


@dataset(
    "digits",
    read_labels=_digits_labels,
    train_samples=_DIGITS_TRAIN,
    image_shape=(1, 28, 28),
    classes=10,
    stands_in_for="mnist",
)
def _digits(root: Path) -> Arrays:
    """8 × 8 images with 17 grey levels, resized (bilinear) to MNIST's 28 × 28 with 256."""
    import torch

    table = _digits_table()
    small = torch.from_numpy(table[:, :64]).view(-1, 1, 8, 8).float() * (255 / 16)
    images = torch.nn.functional.interpolate(small, (28, 28), mode="bilinear").round().byte()
    images, labels = images.numpy(), table[:, 64].astype(np.int64)
    cut = _DIGITS_TRAIN
    return Arrays(images[:cut], labels[:cut], images[cut:], labels[cut:])


def _mnist_labels(root: Path) -> np.ndarray:
    return read_idx(root / "MNIST/raw/train-labels-idx1-ubyte").astype(np.int64)


def _mnist_download(root: Path) -> None:
    from torchvision.datasets import MNIST

    MNIST(root, download=True)


@dataset(
    "mnist",
    read_labels=_mnist_labels,
    train_samples=60_000,
    image_shape=(1, 28, 28),
    classes=10,
    files={
        "MNIST/raw/train-images-idx3-ubyte": (
            "6bbc9ace898e44ae57da46a324031adb",
            "f68b3c2dcbeaaa9fbdd348bbdeb94873",
        ),
        "MNIST/raw/train-labels-idx1-ubyte": (
            "a25bea736e30d166cdddb491f175f624",
            "d53e105ee54ea40749a09fcbcd1e9432",
        ),
        "MNIST/raw/t10k-images-idx3-ubyte": (
            "2646ac647ad5339dbf082846283269ea",
            "9fb629c4189551a2d022fa330f9573f3",
        ),
        "MNIST/raw/t10k-labels-idx1-ubyte": (
            "27ae3e4e09519cfbb04c329615203637",
            "ec29112dd5afa0611ce80d1b7f02629c",
        ),
    },
    download=_mnist_download,
    mirror="https://ossci-datasets.s3.amazonaws.com/mnist/",
)
def _mnist(root: Path) -> Arrays:
    def images(part: str) -> np.ndarray:
        return read_idx(root / f"MNIST/raw/{part}-images-idx3-ubyte")[:, None]

    def labels(part: str) -> np.ndarray:
        return read_idx(root / f"MNIST/raw/{part}-labels-idx1-ubyte").astype(np.int64)

    return Arrays(images("train"), labels("train"), images("t10k"), labels("t10k"))


def _moments(images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of pixels in [0, 1] by channel ``[c]``, from exact sums."""
    pixels = images.size // images.shape[1]
    total = images.sum((0, 2, 3), dtype=np.uint64)
    squares = np.square(images, dtype=np.uint16).sum((0, 2, 3), dtype=np.uint64)
    mean = total / pixels
    return mean / 255, np.sqrt(squares / pixels - mean**2) / 255


def _plain_or_compressed(path: Path) -> Path | None:
    return next((p for p in (path, Path(f"{path}.gz")) if p.is_file()), None)


def _md5(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()


def _unreachable(name: str, root: Path, absent: list[str]) -> UserError:
    return UserError(
        f"data.root: {name} is not in {str(root)!r} and can't be downloaded (no network). Put "
        f"{', '.join(absent)} (or .gz) there, point {ROOT_VARIABLE} or --data-root at a folder "
        f"that has them, or see the pipeline without them: make demo."
    )
