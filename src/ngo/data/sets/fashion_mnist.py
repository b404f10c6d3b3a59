"""Fashion-MNIST (Xiao et al. 2017): four idx files, as those of MNIST."""

from pathlib import Path

from ngo.data.dataset import Arrays, dataset
from ngo.data.idx import mnist_arrays, mnist_facts

FOLDER = "FashionMNIST/raw"
MIRROR = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com"

# The md5 sums of the files, plain and compressed, in the order of ``idx.FILES``.
SUMS = (
    ("f4a8712d7a061bf5bd6d2ca38dc4d50a", "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
    ("9018921c3c673c538a1fc5bad174d6f9", "25c81989df183df01b3e8a0aad5dffbe"),
    ("8181f5470baa50b63fa0f6fddb340f0a", "bef4ecab320f06d8554ea6380940ec79"),
    ("15d484375f8d13e6eb1aabb0c3f46965", "bb300cfdad3c16e7a12a480ee83cd310"),
)


@dataset("fashion_mnist", **mnist_facts(FOLDER, MIRROR, SUMS))
def read_fashion_mnist(root: Path) -> Arrays:
    """Read Fashion-MNIST."""
    return mnist_arrays(root / FOLDER)
