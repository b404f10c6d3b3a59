"""MNIST: four idx files."""

from pathlib import Path

from ngo.data.dataset import Arrays, dataset
from ngo.data.idx import mnist_arrays, mnist_facts

FOLDER = "MNIST/raw"
MIRROR = "https://ossci-datasets.s3.amazonaws.com/mnist"

# The md5 sums of the files, plain and compressed, in the order of ``idx.FILES``.
SUMS = (
    ("6bbc9ace898e44ae57da46a324031adb", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
    ("a25bea736e30d166cdddb491f175f624", "d53e105ee54ea40749a09fcbcd1e9432"),
    ("2646ac647ad5339dbf082846283269ea", "9fb629c4189551a2d022fa330f9573f3"),
    ("27ae3e4e09519cfbb04c329615203637", "ec29112dd5afa0611ce80d1b7f02629c"),
)


@dataset("mnist", **mnist_facts(FOLDER, MIRROR, SUMS))
def read_mnist(root: Path) -> Arrays:
    """Read MNIST."""
    return mnist_arrays(root / FOLDER)
