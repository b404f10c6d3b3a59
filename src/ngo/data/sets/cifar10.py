"""CIFAR-10: batches of pickled arrays."""

from pathlib import Path

import numpy as np

from ngo.data.dataset import Arrays, Download, dataset
from ngo.data.pickled_batch import read_batch

URL = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
FOLDER = "cifar-10-batches-py"
FILES = {
    f"{FOLDER}/data_batch_1": ("c99cafc152244af753f735de768cd75f",),
    f"{FOLDER}/data_batch_2": ("d4bba439e000b95fd0a9bffe97cbabec",),
    f"{FOLDER}/data_batch_3": ("54ebc095f3ab1f0389bbae665268c751",),
    f"{FOLDER}/data_batch_4": ("634d18415352ddfa80567beed471001a",),
    f"{FOLDER}/data_batch_5": ("482c414d41f54cd18b22e5b47cb7c3cb",),
    f"{FOLDER}/test_batch": ("40351d587109b95175f43aff81a1287e",),
    f"{FOLDER}/batches.meta": ("5ff9c542aee3614f3951f8cda6e48888",),
}
BATCHES = list(FILES)[:6]  # the last file has the names of the classes


@dataset(
    "cifar10",
    train_samples=50_000,
    input_shape=(3, 32, 32),
    classes=10,
    files=FILES,
    downloads=(Download(URL, "c58f30108f718f92721af3b95e74349a"),),
)
def read_cifar10(root: Path) -> Arrays:
    """Read CIFAR-10."""
    *train, test = (read_batch(root / name, b"labels", "a CIFAR-10 batch") for name in BATCHES)
    images, labels = zip(*train, strict=True)
    return Arrays(np.concatenate(images), np.concatenate(labels), *test)
