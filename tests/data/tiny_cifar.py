"""A data set of CIFAR's layout with a few images in each file."""

import hashlib
import pickle
from dataclasses import replace

import numpy as np

from ngo.data.dataset import DATASETS


def tiny_cifar(tmp_path, monkeypatch, name, files, key, count, train_samples):
    """Replace the data set ``name``: each file has ``count`` images, and labels under ``key``.

    Returns the data root, and the images and labels by file.
    """
    rng = np.random.default_rng(0)
    contents, sums = {}, {}
    for file in files:
        images = rng.integers(0, 256, (count, 3072), dtype=np.uint8)
        labels = rng.integers(0, DATASETS[name].classes, count).tolist()
        contents[file.split("/")[1]] = images, labels
        values = {b"data": images, key: labels, b"coarse_labels": [0] * count}
        content = pickle.dumps(values, protocol=3)
        content = content.replace(b"numpy._core.multiarray", b"numpy.core.multiarray")  # released
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_bytes(content)
        sums[file] = (hashlib.md5(content).hexdigest(),)
    source = replace(DATASETS[name], files=sums, train_samples=train_samples)
    monkeypatch.setitem(DATASETS, name, source)
    return tmp_path, contents
