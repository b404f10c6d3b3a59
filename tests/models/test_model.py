import subprocess
import sys

import torch

from ngo.common import plugins
from ngo.common.seeding import torch_stream
from ngo.models.model import MODELS

TWO_LAYERS = """
from ngo.models.model import model

@model("two_layers", input_shape=(4,), task="classification", chunk=100)
def two_layers(generator):
    from torch import nn
    from ngo.models.layers import Dropout, fully_connected
    return nn.Sequential(*fully_connected(4, 8, 3), Dropout(generator))
"""


def test_a_model_of_a_plugin(tmp_path, monkeypatch):
    monkeypatch.setattr(plugins, "_loaded", {})
    (tmp_path / "two_layers.py").write_text(TWO_LAYERS)
    plugins.load([tmp_path / "two_layers.py"])
    del sys.modules[f"{plugins.PREFIX}two_layers"]
    model = MODELS.pop("two_layers")
    definition = MODELS.definitions.pop("two_layers")
    assert definition == f"{plugins.PREFIX}two_layers:two_layers"
    assert (model.task, model.chunk, model.smallest_batch) == ("classification", 100, 1)
    outputs = model.build(torch_stream(0, "dropout", 0))(torch.ones(2, 4))
    assert outputs.shape == (2, 3)


def test_models_and_tasks_are_known_without_torch():
    code = (
        "import sys; from ngo.models.model import MODELS; from ngo.models.task import TASKS;"
        "assert (len(MODELS), len(TASKS)) == (13, 4);"
        "print({'torch', 'torchvision'} & set(sys.modules))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "set()\n"
