"""Data sets: the facts about one before it is read, and its arrays and tensors afterwards.

A data set is a function that reads numpy arrays from the data root, registered with ``@dataset`` in
``ngo.data.sets`` or in a plugin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ngo.common.fields import Options, registers
from ngo.common.lazy import torch
from ngo.common.registries import DATASETS
from ngo.common.seeding import numpy_stream


@dataclass(frozen=True)
class Arrays:
    """Training and test samples.

    Inputs are uint8 images ``[m, channels, height, width]`` or float32 ``[m, …]``; targets are
    int64 labels ``[m]`` or float32 ``[m, k]``. The inputs of text are the numbers of characters.
    """

    train_inputs: np.ndarray
    train_targets: np.ndarray
    test_inputs: np.ndarray
    test_targets: np.ndarray


@cache
def checksums() -> Mapping[str, tuple[str, ...]]:
    """The md5 sums of the releases' files by name, from ``sets/releases.md5`` (of ``md5sum``).

    A second sum is that of the compressed file, NAME.gz.
    """
    sums: dict[str, tuple[str, ...]] = {}
    for line in (Path(__file__).parent / "sets/releases.md5").read_text("utf-8").splitlines():
        md5, name = line.split()
        plain = name.removesuffix(".gz")
        name = plain if plain in sums else name
        sums[name] = (*sums.get(name, ()), md5)
    return sums


@dataclass(frozen=True)
class Download:
    """A file to download, with its checksum. An archive (.zip, .tar.gz) is unpacked."""

    url: str
    md5: str

    # The folder, relative to the data root, where the file (or its contents) goes.
    folder: str = "."

    @property
    def path(self) -> str:
        """The file, relative to the data root."""
        return str(Path(self.folder) / self.url.rpartition("/")[2])


@dataclass(frozen=True)
class Source:
    """The facts about a data set before it is read."""

    # Reads the arrays from the data root. The options are keyword arguments with defaults.
    read: Callable[..., Arrays]

    train_samples: int

    # The shape of one input.
    input_shape: tuple[int, ...]

    # The number of classes; None for regression data.
    classes: int | None

    # Reads only the labels of the training samples, where that is quicker than to read all.
    read_labels: Callable[[Path], np.ndarray] | None = None

    # The files, relative to the data root, with their md5 sums, or the SHA-256 of a described one.
    # Without a sum, any content is accepted. A second sum is that of the compressed file, NAME.gz.
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    # A folder of many files without checksums, relative to the data root.
    folder: str | None = None

    # Which part of the release is missing below the data root, in one line; None if none is.
    note: Callable[[Path], str | None] = lambda root: None

    # Where to download the files and the folder.
    downloads: tuple[Download, ...] = ()

    # The data set of the paper whose numbers are shown next to the numbers of this one.
    stands_in_for: str | None = None

    # The options that the data set declares. Labels do not depend on them.
    fields: tuple[str, ...] = ()

    def labels(self, root: Path) -> np.ndarray:
        """The labels of the training samples, int64 ``[m]``; zeros for regression data."""
        if self.classes is None:
            return np.zeros(self.train_samples, np.int64)
        labels = self.read_labels(root) if self.read_labels else self.read(root).train_targets
        return np.asarray(labels, np.int64)


@dataclass(frozen=True)
class Dataset:
    """``Arrays`` as tensors on one device."""

    name: str
    classes: int | None
    train_inputs: torch.Tensor
    train_targets: torch.Tensor
    test_inputs: torch.Tensor
    test_targets: torch.Tensor

    # Mean and standard deviation of each channel over the training images, with pixels in [0, 1]:
    # float32 [channels, 1, 1]; None if the inputs are not images.
    mean: torch.Tensor | None
    std: torch.Tensor | None

    @property
    def labels(self) -> np.ndarray:
        """The labels of the training samples, int64 ``[m]``; zeros for regression data."""
        if self.classes is None:
            return np.zeros(len(self.train_targets), np.int64)
        return self.train_targets.cpu().numpy()

    def normalised(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return uint8 images as float32, scaled to mean 0 and standard deviation 1 over the
        training set. Float inputs are returned unchanged.
        """
        if inputs.is_floating_point():
            return inputs
        scale, shift = self._normalisation
        return inputs.float().mul_(scale).sub_(shift)

    @cached_property
    def _normalisation(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The factor and the offset: two passes over the images instead of four."""
        return 1 / (255 * self.std), self.mean / self.std


Read = Callable[..., Arrays]


def dataset(
    name: str,
    *,
    files: Iterable[str] | Mapping[str, tuple[str, ...]] = (),
    options: Options | None = None,
    version: int = 1,
    **facts: Any,
) -> Callable[[Read], Read]:
    """Register the decorated function ``root → Arrays`` as a data set.

    ``facts`` are those of ``Source``: ``train_samples``, ``input_shape`` and ``classes``, and more.
    ``files`` are names, or names with checksums. ``options`` are new fields of a run, which the
    function takes as keyword arguments of these names. ``version`` is raised when its results
    change.
    """
    sums = files if isinstance(files, Mapping) else dict.fromkeys(files, ())

    def source(read: Read, fields: tuple[str, ...]) -> Source:
        return Source(read, files=sums, fields=fields, **facts)

    return registers(DATASETS, name, source, options, version)


def test_samples(data: Dataset, count: int) -> np.ndarray:
    """``count`` indices of test samples, sorted: the same in every run.

    The numbers of samples of two classes differ by one at most, unless a class has too few.
    Regression data are one class. ``count`` must not exceed the size of the test set.
    """
    targets = data.test_targets.cpu().numpy()
    labels = targets if data.classes else np.zeros(len(targets), np.int64)
    order = numpy_stream(0, "test_part").permutation(len(labels))
    by_class = order[np.argsort(labels[order], kind="stable")]
    first = np.searchsorted(labels[by_class], labels[by_class])
    place = np.arange(len(labels)) - first  # of each sample within its class
    return np.sort(by_class[np.argsort(place, kind="stable")[:count]])
