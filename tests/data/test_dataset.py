import subprocess
import sys

import numpy as np
import pytest
import torch

from ngo.common import plugins
from ngo.common.registry import UserError
from ngo.data import loading
from ngo.data.dataset import DATASETS

CSV = '''
import numpy as np
from ngo.data.dataset import Arrays, dataset

@dataset("flowers", files=["flowers.csv"], train_samples=4, input_shape=(2,), classes=3)
def read_flowers(root):
    """Two measurements and a class per row."""
    table = np.loadtxt(root / "flowers.csv", delimiter=",")
    inputs, labels = table[:, :2], table[:, 2].astype(int)
    return Arrays(inputs[:4], labels[:4], inputs[4:], labels[4:])
'''


@pytest.fixture
def flowers(tmp_path, monkeypatch):
    """A data root with a CSV file, and a plugin that reads it."""
    monkeypatch.setattr(plugins, "_loaded", {})
    (tmp_path / "flower_set.py").write_text(CSV)
    (tmp_path / "flowers.csv").write_text("1,2,0\n3,4,1\n5,6,2\n7,8,0\n9,10,1\n")
    plugins.load([tmp_path / "flower_set.py"])
    yield tmp_path
    del DATASETS["flowers"], DATASETS.definitions["flowers"]
    del sys.modules[f"{plugins.PREFIX}flower_set"]


def test_a_csv_file_as_a_data_set(flowers):
    data = loading.load("flowers", flowers)
    assert data.train_inputs.dtype == torch.float32
    assert data.train_inputs.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]
    assert data.test_targets.tolist() == [1]
    labels = loading.train_labels("flowers", flowers)
    assert labels.dtype == np.int64
    assert labels.tolist() == [0, 1, 2, 0]
    assert DATASETS.definitions["flowers"] == f"{plugins.PREFIX}flower_set:read_flowers"


def test_an_absent_file_of_a_plugins_data_set_is_named(flowers):
    (flowers / "flowers.csv").unlink()
    with pytest.raises(UserError, match="data.root: flowers is not in .* Put flowers.csv there"):
        loading.load("flowers", flowers)


@pytest.mark.parametrize("first", ["dataset", "download", "loading", "sets.mnist", "sets.cifar"])
def test_modules_are_imported_in_any_order_and_without_torch(first):
    code = (
        f"import sys, ngo.data.{first}; from ngo.data.dataset import DATASETS;"
        "assert len(DATASETS) == 9, DATASETS;"
        "print({'torch', 'pandas', 'PIL'} & set(sys.modules))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "set()\n"
