from dataclasses import replace

import pytest
import torch
from own_modules import PAIR, prepared
from runs import tiny
from torch import nn

from ngo.training.results_version import data_digest, inputs_read

DATA, NAMES = prepared(nn.Linear(3, 4))[1], ("train_inputs", "train_targets", "test_inputs")


@pytest.mark.parametrize("name", [*NAMES, "test_targets"])
def test_every_value_of_the_data_counts(name):
    values = getattr(DATA, name).clone()
    values[-1] = values[-1] + 1
    assert data_digest(replace(DATA, **{name: values})) != data_digest(DATA)


def test_the_type_and_the_shape_of_equal_bytes_count():
    X = PAIR[0]
    others = (X.view(torch.int32), X[:, :, None], X.reshape(4, 6), X.bool())
    digests = {data_digest(replace(DATA, train_inputs=each)) for each in (X, *others)}
    assert len(digests) == 5
    assert data_digest(replace(DATA, train_inputs=X.T.contiguous().T)) == data_digest(DATA)


def test_the_content_of_a_named_file_counts(tmp_path):
    path, found = tmp_path / "own.edgelist", []
    for content in ("0 1\n1 2\n", "0 1\n1 2\n2 0\n", "0 1\n1 2\n"):
        path.write_text(content)
        found.append(inputs_read(tiny(topology="graph_file", graph=str(path)), DATA))
    assert found[0] == found[2] != found[1]
    assert found[0]["data_digest"] == data_digest(DATA) == found[1]["data_digest"]
    assert set(inputs_read(tiny(), DATA)) == {"data_digest"}
