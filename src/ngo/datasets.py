"""Data sets, resident in memory as tensors.

A data set is a function that reads numpy arrays from the data root, registered with the facts
that the validation of a config needs. (torch is imported where it is used, so that labels can be
partitioned and names checked without its start-up cost.)
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ngo import image_files, regression, tinyimagenet
from ngo.files import writable_folder
from ngo.image_files import plain_or_compressed
from ngo.registry import Decorator, Registry, UserError

if TYPE_CHECKING:
    import torch

DEFAULT_ROOT = "data"
ROOT_VARIABLE = "NGO_DATA"


@dataclass(frozen=True)
class Arrays:
    """Inputs: uint8 images ``[m, channels, height, width]``, or float32 ``[m, k]``.

    Targets: int64 labels ``[m]``, or float32 ``[m, k]``.
    """

    train_inputs: np.ndarray
    train_targets: np.ndarray
    test_inputs: np.ndarray
    test_targets: np.ndarray


@dataclass(frozen=True)
class Source:
    """What is known of a data set before it is read.

    ``files`` maps the files below the data root to the md5 sums of their release: of the file and,
    where it is released compressed, of the file with ``.gz``, under which name it may lie there
    too. ``folder`` is a folder of files without sums of their own; ``note(root)`` tells what of
    its release is not there, in a line. ``download(root)`` fetches them from ``mirror``.
    ``stands_in_for`` names the data set of the paper whose numbers are shown beside this one's.
    ``classes`` is None for regression data, whose ``read_labels`` gives zeros.
    """

    read: Callable[[Path], Arrays]
    read_labels: Callable[[Path], np.ndarray]
    train_samples: int
    input_shape: tuple[int, ...]
    classes: int | None
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    folder: str | None = None
    note: Callable[[Path], str | None] = lambda root: None
    download: Callable[[Path], None] | None = None
    mirror: str | None = None
    stands_in_for: str | None = None


@dataclass(frozen=True)
class Dataset:
    """Train and test sets on one device, as :class:`Arrays` has them.

    ``mean`` and ``std`` are those of the training pixels by channel, float32 ``[c, 1, 1]``, in
    [0, 1]; None where the inputs are no images.
    """

    name: str
    classes: int | None
    train_inputs: torch.Tensor
    train_targets: torch.Tensor
    test_inputs: torch.Tensor
    test_targets: torch.Tensor
    mean: torch.Tensor | None
    std: torch.Tensor | None

    @property
    def labels(self) -> np.ndarray:
        """What :func:`train_labels` gives, without reading again: zeros where no classes are."""
        if self.classes is None:
            return np.zeros(len(self.train_targets), np.int64)
        return self.train_targets.cpu().numpy()

    def normalised(self, inputs: torch.Tensor) -> torch.Tensor:
        """uint8 images as float32 with the training set's mean 0 and standard deviation 1.

        Float inputs are returned as they are.
        """
        if inputs.is_floating_point():
            return inputs
        scale, shift = self._normalisation
        return inputs.float().mul_(scale).sub_(shift)

    @cached_property
    def _normalisation(self) -> tuple[torch.Tensor, torch.Tensor]:
        """A factor and a subtrahend: two passes over the images instead of four."""
        return 1 / (255 * self.std), self.mean / self.std


DATASETS: Registry[Source] = Registry("dataset")


def dataset(name: str, **facts) -> Decorator:
    """Register a reader ``root → Arrays`` with the facts of a :class:`Source`."""

    def register(read: Callable[[Path], Arrays]) -> Callable[[Path], Arrays]:
        DATASETS.add(name, Source(read=read, **facts))
        return read

    return register


def data_root(given: str | Path | None = None, config: str | Path | None = None) -> Path:
    """The folder that holds the data sets: what is given, else ``NGO_DATA``, else the config's."""
    named = given or os.environ.get(ROOT_VARIABLE) or config or DEFAULT_ROOT
    root = Path(os.path.expanduser(named))
    if os.path.exists(root) and not root.is_dir():
        raise UserError(f"data.root: {str(root)!r} is no folder.")
    return root


def load(name: str, root: Path, device: str | torch.device = "cpu") -> Dataset:
    """The data set as tensors on ``device``, its files verified; downloaded if they are absent."""
    import torch

    source = DATASETS[name]
    arrays = source.read(prepare(name, root))
    tensors = (torch.from_numpy(array).to(device) for array in vars(arrays).values())
    mean = std = None
    if arrays.train_inputs.dtype == np.uint8:
        mean, std = (
            torch.from_numpy(moment.astype(np.float32)).to(device)[:, None, None]
            for moment in _moments(arrays.train_inputs)
        )
    return Dataset(name, source.classes, *tensors, mean, std)


def train_labels(name: str, root: Path) -> np.ndarray:
    """The labels of the training set, int64 ``[m]``; what a partition needs, without torch.

    Regression data has zeros.
    """
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
                raise _unreachable(name, root, absent, " ".join(str(error).split())) from error
            if failed := verify(name, Path(folder)):
                raise UserError(f"data.root: the download of {name} brought no {failed[0]}")
            for path in _paths(source, Path(folder)):
                target = root / path.relative_to(folder)
                target.parent.mkdir(parents=True, exist_ok=True)
                if not target.is_dir():  # another process was faster
                    path.replace(target)
    return root


def check(name: str, root: Path) -> list[str]:
    """The data set's absent files, which a network is there to fetch; a UserError if one is corrupt
    or there is no network.

    Where a part of the release lies there, a note on stderr says so, once in a process.
    """
    absent = verify(name, root)
    if absent:
        try:
            urllib.request.urlopen(DATASETS[name].mirror, timeout=5).close()
        except urllib.error.HTTPError:
            pass  # the mirror answered: there is a network
        except OSError as error:
            raise _unreachable(name, root, absent, "no network") from error
    elif note := DATASETS[name].note(root):
        _say(note)
    return absent


def verify(name: str, root: Path) -> list[str]:
    """The data set's absent files; a UserError if one that is there isn't the released one."""
    source, absent = DATASETS[name], []
    for relative, released in source.files.items():
        path = _there(root / relative, released)
        if path is None:
            absent.append(relative)
        elif (md5 := _md5(path)) not in released:
            raise UserError(
                f"data.root: {str(path)!r} is corrupt or truncated: its md5 is {md5}, the "
                f"release's {' or '.join(released)}. Remove it and run again to fetch it anew."
            )
    if source.folder is not None and not (root / source.folder).is_dir():
        absent.append(source.folder)
    return absent


@dataset(
    "digits",
    read_labels=image_files.digits_labels,
    train_samples=image_files.DIGITS_TRAIN,
    input_shape=(1, 28, 28),
    classes=10,
    stands_in_for="mnist",
)
def _digits(root: Path) -> Arrays:
    return Arrays(*image_files.digits(root))


@dataset(
    "mnist",
    read_labels=image_files.mnist_labels,
    train_samples=60_000,
    input_shape=(1, 28, 28),
    classes=10,
    files=image_files.MNIST_FILES,
    download=image_files.mnist_download,
    mirror="https://ossci-datasets.s3.amazonaws.com/mnist/",
)
def _mnist(root: Path) -> Arrays:
    return Arrays(*image_files.mnist(root))


@dataset(
    "cifar10",
    read_labels=image_files.cifar10_labels,
    train_samples=50_000,
    input_shape=(3, 32, 32),
    classes=10,
    files=image_files.CIFAR10_FILES,
    download=image_files.cifar10_download,
    mirror="https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
)
def _cifar10(root: Path) -> Arrays:
    return Arrays(*image_files.cifar10(root))


@dataset(
    "tinyimagenet",
    read_labels=tinyimagenet.train_labels,
    train_samples=tinyimagenet.TRAIN,
    input_shape=tinyimagenet.SHAPE,
    classes=tinyimagenet.CLASSES,
    folder=tinyimagenet.FOLDER,
    note=tinyimagenet.note,
    download=tinyimagenet.download,
    mirror=tinyimagenet.URL,
)
def _tinyimagenet(root: Path) -> Arrays:
    return Arrays(*tinyimagenet.read(root))


@dataset(
    "sine",
    read_labels=regression.no_labels,
    train_samples=regression.TRAIN,
    input_shape=(1,),
    classes=None,
)
def _sine(root: Path) -> Arrays:
    return Arrays(*regression.sine())


@dataset(
    "least_squares",
    read_labels=regression.no_labels,
    train_samples=regression.TRAIN,
    input_shape=(regression.LEAST_SQUARES_FEATURES,),
    classes=None,
)
def _least_squares(root: Path) -> Arrays:
    return Arrays(*regression.least_squares())


def _moments(images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of pixels in [0, 1] by channel ``[c]``, from exact sums.

    Chunks keep the squares small beside the images.
    """
    pixels, total, squares = images.size // images.shape[1], 0, 0
    for start in range(0, len(images), 1000):
        chunk = images[start : start + 1000]
        total += chunk.sum((0, 2, 3), dtype=np.uint64)
        squares += np.square(chunk, dtype=np.uint16).sum((0, 2, 3), dtype=np.uint64)
    mean = total / pixels
    return mean / 255, np.sqrt(squares / pixels - mean**2) / 255


def _there(path: Path, released: tuple[str, ...]) -> Path | None:
    """The file, or its compressed form where there is a released one; None if neither is there."""
    if len(released) > 1:
        return plain_or_compressed(path)
    return path if path.is_file() else None


def _paths(source: Source, root: Path) -> Iterator[Path]:
    """The data set's files and folder below ``root``, where all are there."""
    for relative, released in source.files.items():
        yield _there(root / relative, released)
    if source.folder is not None:
        yield root / source.folder


def _md5(path: Path) -> str:
    """The file's md5 sum, read once in a process for as long as the file stays as it is."""
    facts = path.stat()
    return _md5_of(path.resolve(), facts.st_size, facts.st_mtime_ns)


@cache
def _md5_of(path: Path, size: int, changed: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()


@cache
def _say(note: str) -> None:
    print(note, file=sys.stderr)


def _unreachable(name: str, root: Path, absent: list[str], reason: str) -> UserError:
    files = DATASETS[name].files
    wanted = (file + (" (or .gz)" if len(files.get(file, ())) > 1 else "") for file in absent)
    return UserError(
        f"data.root: {name} is not in {str(root)!r} and can't be downloaded ({reason}). Put "
        f"{', '.join(wanted)} there, point {ROOT_VARIABLE} or --data-root at a folder that has "
        f"them, or see the pipeline without them: make demo."
    )
