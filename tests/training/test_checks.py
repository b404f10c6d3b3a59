import numpy as np
import pytest

import ngo
from ngo.common.registry import UserError
from ngo.training.resolve import check_filled, check_share, check_snapshots, resolve


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"workers": 1},
            "workers: 1 is too few for method 'ngo'; it must be 2 or more .1 is allowed with "
            "method centralized, diloco.*",
        ),
        ({"workers": 60_001, "batch_size": 1}, "workers: 60001 is more than mnist's 60000"),
        ({"batch_size": 6001}, "batch_size: 6001 is larger than worker 0's share of 6000"),
        ({"partition": "shards", "batch_size": 401}, "a worker's share of 400"),
        ({"partition": "shards", "workers": 151}, "are 302 shards, but there are 300; at most 1"),
        ({"partition": "shards", "shards": 60_001}, "shards: 60001 is more than mnist's 60000"),
        (
            {"partition": "equal", "samples_per_worker": 6001},
            "samples_per_worker: 6001 for each of 10 workers are 60010, .* at most 6000 each",
        ),
        (
            {"partition": "quantity", "smallest": 6001},
            "smallest: 6001 for each of 10 workers are 60010, .* at most 6000 each",
        ),
        (
            {"partition": "dirichlet_min", "smallest": 20},
            "batch_size: 32 is larger than a worker's share of 20",
        ),
        ({"partition": "natural"}, "'natural' needs the owners of samples, which dataset 'mnist'"),
        ({"model": "cifar10_cnn"}, "model: 'cifar10_cnn' takes inputs of shape .*; it goes with"),
        ({"task": "vae"}, "model: 'mnist_cnn' serves task 'classification', not 'vae'"),
        (
            {"dataset": "cifar10", "model": "cifar10_vae", "task": "vae", "batch_size": 1},
            r"batch_size: 1 is too small for model 'cifar10_vae' \(batch normalization\)",
        ),
        (
            {
                "dataset": "least_squares", "model": "linear", "task": "regression",
                "partition": "shards",
            },
            "partition: 'shards' needs classes, which dataset 'least_squares' lacks",
        ),
        (
            {"epochs": 1e8, "eval_every": 1e7},
            r"epochs: 1e\+08 are 1.88e\+10 steps; it must be 5.33e\+06 or less, for at most 1,000,",
        ),
        (
            {"eval_every": 1e-9},
            "eval_every: 1e-09 asks for 2e.10 evaluations; it must be 0.0002 or more, for at most "
            "100,000",
        ),
        ({"epochs": 1e-9, "eval_every": 1e-9}, "eval_every: 1e-09 asks for 5.33e.06 evaluations"),
    ],
)  # fmt: skip
def test_values_that_do_not_go_together_are_told_in_one_line(values, message):
    with pytest.raises(UserError, match=message) as error:
        resolve(values)
    assert "\n" not in str(error.value)


def test_shares_and_snapshots():
    spec = resolve({"batch_size": 32})
    check_share(spec, 32)
    with pytest.raises(UserError, match="batch_size: 32 is larger than a worker's share of 31 sam"):
        check_share(spec, 31)
    check_filled(spec, [np.arange(1)] * 10)
    with pytest.raises(UserError, match="^partition: iid leaves worker 9 without samples; use few"):
        check_filled(spec, [*[np.arange(1)] * 9, np.arange(0)])
    last = spec.steps(1000)
    check_snapshots(spec, [0, last, "final"], last)
    with pytest.raises(UserError, match=f"snapshots: step {last + 1} is after the last step of"):
        check_snapshots(spec, [last + 1], last)


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"fields": ("topolgy",)}, "field of method 'mine': 'topolgy' .* mean 'topology'"),
        ({"local_rulee": "sgd"}, "field of method 'mine': 'local_rulee' .* mean 'local_rule'"),
        ({"graph": "fixd"}, "graph of method 'mine': 'fixd' is unknown; allowed: any, fixed, tree"),
        ({"sends": ("2d",)}, "sends of method 'mine': '2d' is unknown; allowed: "),
    ],
)
def test_a_method_that_declares_an_unknown_name_is_refused(own_entries, declared, message):
    ngo.method("mine", **declared)(lambda step: None)
    with pytest.raises(UserError, match=message) as error:
        resolve({"method": "mine"})
    assert "\n" not in str(error.value)


def test_a_method_may_fix_the_weight_decay_that_it_does_not_use(own_entries):
    ngo.method("mine", local_rule="sgd", weight_decay=0.0)(lambda step: None)
    assert resolve({"method": "mine"}).weight_decay == 0
    with pytest.raises(UserError, match="weight_decay: 0.1 has no effect with method 'mine'"):
        resolve({"method": "mine", "weight_decay": 0.1})
