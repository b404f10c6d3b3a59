import contextlib

import numpy as np
import pytest
import torch
from own_modules import DATA, equal, quick, told
from torch.utils.data import DataLoader, Dataset, IterableDataset, Subset, TensorDataset

import ngo

X, y = DATA


ENDLESS = type("Endless", (IterableDataset,), {"__iter__": iter})()


class Samples(Dataset):
    def __len__(self):
        return len(X)

    def __getitem__(self, i):
        if i >= len(X):
            raise IndexError
        return X[i].numpy(), int(y[i])


def test_a_torch_data_set_is_its_tensors():
    for data in (Samples(), TensorDataset(X, y), Subset(Samples(), range(48))):
        assert equal(quick(), quick(train=data))


@pytest.mark.parametrize("made", [torch.Tensor.clone, lambda x: x.numpy().copy()])
def test_data_that_a_callback_changes_are_those_of_the_start(made):
    own = made(X), made(y)

    def change(state):
        own[0][:] = 0
        own[1][:] = 0

    assert equal(quick(train=own, test=own, on_step=change), quick())


def test_a_score_in_place_leaves_the_callers_targets_alone():
    test = X.clone(), y.clone()

    def score(out, targets):
        right = out.argmax(1) == targets
        targets.zero_()
        return right

    with contextlib.suppress(ngo.UserError):
        quick(test=test, score=score)
    assert torch.equal(test[1], y)


def test_lists_of_indices_and_of_data_sets_are_partitions():
    parts = [list(range(0, 16)), np.arange(16, 32), torch.arange(32, 48)]
    lists = quick(partition=parts)
    sets = quick(train=[(X[i], y[i]) for i in map(np.asarray, parts)], test=DATA)
    mixed = quick(train=[Subset(Samples(), each) for each in np.array(parts)], test=DATA)
    assert equal(lists, sets)
    assert equal(sets, mixed)
    assert lists.spec.partition.startswith("own-")
    uneven = quick(partition=[[0, 1, 2, 3], range(8, 20)], workers=2)
    assert len(uneven.models) == 2


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (
            {"train": DataLoader(Samples())},
            "a DataLoader is not a pair (inputs, targets) or a",
        ),
        ({"train": DataLoader(Samples())}, "give its data set, loader.dataset"),
        (
            {"train": (X.tolist(), y)},
            "a list is not allowed; it must be a tensor or a NumPy arr",
        ),
        (
            {"train": ENDLESS},
            "has no length; collect",
        ),
        ({"partition": [[0, 1, 2, 3], [0, 5, 6, 7]]}, "gives a sample to two workers"),
        ({"partition": [[0, 1], []]}, "a list with the indices of each worker's samples, for exam"),
        ({"partition": [range(9), range(9, 20)]}, "workers: 3 is not the number of workers that"),
        ({"partition": [[0]] * 3, "holdout": 0.1}, "holdout: each worker's samples are given"),
        ({"train": [DATA] * 3, "partition": "iid"}, "partition: train is a list of workers' data"),
    ],
)
def test_other_data_are_told_the_next_step(arguments, part):
    arguments = {"test": DATA} | arguments
    if "gives a sample" in part or "indices of each" in part:
        arguments["workers"] = 2
    assert part in told(**arguments)
