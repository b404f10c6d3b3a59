import json

import pytest
from command_line import SMALL, ngo

from ngo.cli.field_options import spec_of_options


def test_a_value_without_effect_is_named(tmp_path):
    out = ngo("train", *SMALL, "--method", "gossip", "--p", "0.8", "--out", tmp_path / "a")
    assert "note: p 0.8 has no effect here: it is 1" in out
    out = ngo("train", *SMALL, "--method", "centralized", "--topology", "ring", "--out", tmp_path)
    assert "note: topology ring has no effect here: it is not used" in out
    own_rule = ("--method", "quasi_global", "--local-rule", "adam")
    out = ngo("train", *SMALL, *own_rule, "--out", tmp_path / "b")
    assert "note: local_rule adam has no effect here: it is 'sgd'" in out


@pytest.mark.parametrize(
    ("dataset", "model"),
    [*(("digits", "mnist_cnn"), ("mnist", "mnist_cnn"), ("cifar10", "cifar10_cnn"))],
)
def test_the_default_model_classifies_if_one_that_fits_does(dataset, model):
    assert spec_of_options({"dataset": dataset, "batch_size": 4}).model == model
    if dataset.startswith("cifar"):
        vae = spec_of_options({"dataset": dataset, "batch_size": 4, "task": "vae"})
        assert vae.model == "cifar10_vae"


@pytest.mark.parametrize(
    ("how", "model", "task"),
    [
        (["--dataset", "sine"], "toy_net", "regression"),
        (["--dataset", "digits", "--task", "vae"], "mnist_vae", "vae"),
    ],
)
def test_the_model_follows_the_data_and_the_task_the_model(tmp_path, how, model, task):
    ngo("train", *how, "--workers", "2", "--batch-size", "4", "--epochs", "1e-3", "--out", tmp_path)
    spec = json.loads((tmp_path / "run.json").read_text())["spec"]
    assert (spec["model"], spec["task"]) == (model, task)
