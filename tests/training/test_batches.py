from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
import torch

from ngo.common.seeding import torch_stream
from ngo.data.augmentation import AUGMENTATIONS
from ngo.models.task import TASKS
from ngo.training.batches import Batches, BatchStream


def test_batches_pass_over_all_samples_and_are_always_full():
    owned = np.array([3, 5, 8, 13, 21])
    stream = BatchStream(owned, 2, torch_stream(0, "batches", 0))
    drawn = torch.cat(list(islice(stream, 10))).tolist()
    for k in range(4):
        assert sorted(drawn[5 * k : 5 * k + 5]) == owned.tolist()
    assert drawn[:5] != drawn[5:10]


@pytest.mark.parametrize(("owned", "size"), [(5, 7), (300, 1), (700, 32), (8, 8)])
def test_batches_are_the_orders_of_all_passes_in_turn(owned, size):
    own, generator = np.arange(owned), torch_stream(0, "batches", 3)
    stream = BatchStream(own, size, torch_stream(0, "batches", 3))
    drawn = torch.cat(list(islice(stream, 1000)))
    passes = [torch.randperm(owned, generator=generator) for _ in range(len(drawn) // owned + 1)]
    assert torch.equal(drawn, torch.cat(passes)[: len(drawn)])


def test_a_stream_is_restored():
    def fresh(seed):
        return BatchStream(np.arange(10), 4, torch_stream(seed, "batches", 0))

    for drawn in (*range(7), 63, 64, 65, 200):
        first, second = fresh(0), fresh(1)
        for _ in range(drawn):
            next(first)
        second.load_state_dict(first.state_dict())
        for _ in range(5):
            assert torch.equal(next(first), next(second))


def test_batches_are_the_samples_of_all_workers(digits):
    def streams():
        return [BatchStream(np.arange(50), 8, torch_stream(0, "batches", i)) for i in range(3)]

    batches, same = Batches(TASKS["classification"], digits, streams()), streams()
    for _ in range(2):
        inputs, targets = batches.all()
        assert inputs.shape[:2] == targets.shape == (3, 8)
        for i, stream in enumerate(same):
            samples = next(stream)
            assert torch.equal(targets[i], digits.train_targets[samples])
            assert torch.equal(inputs[i], digits.normalised(digits.train_inputs[samples]))


def test_each_workers_images_are_changed_from_its_own_stream(digits):
    def streams():
        return [BatchStream(np.arange(50), 8, torch_stream(0, "batches", i)) for i in range(3)]

    def changes():
        return [torch_stream(0, "augmentation", i) for i in range(3)]

    task, augment = TASKS["classification"], AUGMENTATIONS["crop_flip"]
    batches = Batches(task, digits, streams(), augment=augment, changes=changes())
    same, each = streams(), changes()
    for _ in range(2):
        inputs, targets = batches.all()
        for i in range(3):
            samples = next(same[i])
            changed = augment(digits.train_inputs[samples], each[i])
            assert torch.equal(inputs[i], digits.normalised(changed))
            assert torch.equal(targets[i], digits.train_targets[samples])


def test_rows_are_the_same_samples(digits, least_squares):
    """Where they are rows of the data set, no sample is copied."""

    def streams():
        return [BatchStream(np.arange(50), 8, torch_stream(0, "batches", i)) for i in range(3)]

    own = replace(TASKS["classification"], batch=lambda data, inputs, targets: (-inputs, targets))
    augment = AUGMENTATIONS["crop_flip"]
    for task, data, how, copied in (
        (TASKS["classification"], digits, {}, False),
        (TASKS["regression"], least_squares, {}, False),
        (TASKS["vae"], digits, {}, False),
        (own, least_squares, {}, True),
        (TASKS["classification"], digits, {"augment": augment}, True),
    ):
        batches, same = (
            Batches(
                task, data, streams(), changes=[torch_stream(0, "a", i) for i in range(3)], **how
            )
            for _ in range(2)
        )
        for _ in range(2):
            rows = batches.rows()
            assert (rows.inputs is data.train_inputs) != copied
            own = slice(None) if copied else rows.samples.flatten()
            inputs, targets = rows.inputs[own], rows.targets[own]
            if rows.shades is not None:  # of one channel
                inputs = rows.shades[0][inputs.long()]
            expected = [each.flatten(0, 1) for each in same.all()]
            assert all(torch.equal(*pair) for pair in zip((inputs, targets), expected, strict=True))
