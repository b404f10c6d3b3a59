import numpy as np
import pandas as pd
import pytest
import torch
from own_modules import DATA, equal, quick, told
from torch.utils.data import DataLoader, Dataset, IterableDataset, Subset, TensorDataset

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


@pytest.mark.parametrize("m", [4, 48])
def test_a_data_set_that_is_random_is_told_to_be_read_once(m):
    """Its samples were frozen without a word."""

    class Drawn(Samples):
        def __getitem__(self, i):
            return torch.randn(3), int(y[i])

    with pytest.warns(RuntimeWarning, match="train: .* differ from read to read; .*augmentation"):
        quick(train=Subset(Drawn(), range(m)), test=DATA, batch_size=1)


@pytest.mark.parametrize("made", [torch.Tensor.clone, lambda x: x.numpy().copy()])
def test_data_that_a_callback_changes_are_those_of_the_start(made):
    own = made(X), made(y)

    def change(state):
        own[0][:] = 0
        own[1][:] = 0

    assert equal(quick(train=own, test=own, on_step=change), quick())


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
        ({"train": DataLoader(Samples())}, "of a DataLoader, give loader.dataset"),
        ({"train": ENDLESS}, "the samples of the Endless are no pairs (input, target): "),
        (
            {"train": TensorDataset(X, y, y)},
            "samples of the TensorDataset are no pairs (input, ",
        ),
        ({"train": Subset(Samples(), [])}, "train: the Subset has no samples."),
        ({"partition": [[0, 1, 2], [0, 5], [7]]}, "worker 1: sample 0 is worker 0's already"),
        ({"partition": [[0, 1], [2], []]}, "partition, worker 2: it has no samples; samples are"),
        ({"partition": 3}, "a list with the indices of each worker's samples, such as"),
        ({"partition": [range(9), range(9, 20)]}, "workers: 3 is not the number of workers that"),
        ({"partition": [[0]] * 3, "holdout": 0.1}, "holdout: each worker's samples are given"),
        ({"train": [DATA] * 3, "partition": "iid"}, "partition: train is a list of workers' data"),
    ],
)
def test_other_data_are_told_the_next_step(arguments, part):
    assert part in told(**{"test": DATA} | arguments)


def product(outputs, targets):
    return (outputs[:, 0] * targets.float()).mean()


def signs(dtype=torch.int64):
    return X, torch.where(y > 1, 1, -1).to(dtype)


def test_targets_below_0_are_those_of_a_users_own_loss():
    """A hinge loss on −1 and 1, equal to the one on float targets."""

    def hinge(outputs, targets):
        assert set(targets.tolist()) <= {-1, 1}
        return (1 - targets * outputs[:, 0]).clamp(min=0)

    whole, real = (
        quick(train=signs(dtype), loss=hinge).metrics["consensus_loss"].tolist()
        for dtype in (torch.int64, torch.float32)
    )
    assert whole == real
    assert told(train=signs()).startswith("targets: -1 is not a class; int64 classes start from 0")


@pytest.mark.parametrize("dtype", [torch.float64, torch.int32, torch.bool])
def test_a_users_own_loss_gets_targets_of_any_type_as_they_are(dtype):
    seen = []

    def loss(outputs, targets):
        seen.append(targets.dtype)
        return product(outputs, targets)

    assert len(quick(train=(X, y.to(dtype)), loss=loss).models) == 3
    assert set(seen) == {dtype}


BIG = X.numpy().astype(">f4"), y.numpy().astype(">i8")


def test_arrays_in_another_order_of_bytes_or_memory_are_the_same_numbers():
    N = X.numpy()
    backwards = np.ascontiguousarray(N[::-1])[::-1]
    stored = np.asfortranarray(N)
    with torch.inference_mode():
        inferred = X + 0
    leaf = X.clone().requires_grad_()
    for inputs in (BIG[0], backwards, stored, X.T.contiguous().T, inferred, leaf):
        assert equal(quick(train=(inputs, BIG[1]), test=DATA), quick())


@pytest.mark.parametrize(
    ("inputs", "part"),
    [
        (X.numpy().astype(object), "train inputs: a ndarray is no array of numbers with a row per"),
        (X.half(), "module: it failed on inputs of float16 of shape [3]"),
        ("images.npy", "train inputs: a str is no array of numbers with a row per sample: "),
    ],
)
def test_data_without_plain_numbers_are_told_in_a_line(inputs, part):
    assert part in told(train=(inputs, y))


def test_float64_tables_and_sparse_tensors_are_float32():
    for inputs in (X.double(), X.numpy().astype(">f8"), pd.DataFrame(X.numpy()), X.to_sparse()):
        assert equal(quick(train=(inputs, y), test=DATA), quick())
