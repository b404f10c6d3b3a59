import re
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from own_modules import DATA, equal, linear, quick, row, stop_at, told
from runs import digits_run
from torch import nn
from torch.nn import functional as F

from ngo.common.registry import UserError
from ngo.common.seeding import torch_stream
from ngo.data.augmentation import AUGMENTATIONS
from ngo.distributed.process_run import check
from ngo.gossip.method import method
from ngo.models.model import MODELS
from ngo.models.task import TASKS
from ngo.training.batches import Batches, BatchStream
from ngo.training.fit_inputs import template
from ngo.training.learning_problem import make_problem


def test_batches_pass_over_all_samples_and_are_always_full():
    owned = np.array([3, 5, 8, 13, 21])
    stream = BatchStream(owned, 2, torch_stream(0, "batches", 0))
    drawn = torch.cat(list(islice(stream, 10))).tolist()
    for k in range(4):
        assert sorted(drawn[5 * k : 5 * k + 5]) == owned.tolist()
    assert drawn[:5] != drawn[5:10]


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


def streams():
    """The batches of three workers, each from its start."""
    return [BatchStream(np.arange(50), 8, torch_stream(0, "batches", i)) for i in range(3)]


def test_each_workers_images_are_changed_from_its_own_stream(digits):
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


def short(short_share="whole", sizes=(30, 3, 7), batch_size=10, **fields):
    """A fit of workers that own this many samples."""
    ends = np.cumsum([0, *sizes])
    parts = [range(*ends[i : i + 2]) for i in range(len(sizes))]
    return {"partition": parts, "workers": len(sizes), "topology": "complete"} | {
        "short_share": short_share, "batch_size": batch_size, "epochs": 2, **fields
    }  # fmt: skip


def test_a_batch_larger_than_a_share_names_the_smallest_share_and_its_worker():
    for fields in (short("error"), {**short("error"), "partition": "iid"}):
        worker, share = (1, 3) if fields["partition"] != "iid" else (0, 16)
        fields["batch_size"] = 20
        text = told(**fields)
        assert f"batch_size: 20 is larger than worker {worker}'s share of {share} samples" in text
    random = told(partition="dirichlet", beta=0.5, batch_size=40)
    assert re.search("batch_size: 40 is larger than worker [0-2]'s share of [0-9]+ sam", random)


def test_short_shares_that_repeat_have_full_batches_and_count_all_samples():
    rows = quick(**short("repeat", sizes=[6] * 8)).metrics
    assert rows["samples"].iloc[-1] == rows["step"].iloc[-1] * 80
    assert rows["epoch"].tolist() == (rows["samples"] / 48).tolist()
    assert rows["step"].iloc[-1] == round(2 * 48 / 80)


def test_whole_short_shares_are_the_batches_of_their_workers():
    """Full batches of unequal workers: plain torch takes the same steps."""
    sizes = (30, 3, 7)
    run = quick(**short(batch_size=100, sizes=sizes, method="centralized", lr=0.1, topology=None))
    module = template(linear, 0)
    for _ in range(2):
        module.zero_grad()
        ends = np.cumsum([0, *sizes])
        losses = [
            F.cross_entropy(module(DATA[0][a:b]), DATA[1][a:b]) for a, b in pairwise(ends.tolist())
        ]
        torch.stack(losses).mean().backward()
        with torch.no_grad():
            for each in module.parameters():
                each -= 0.1 * each.grad
    assert run.metrics["step"].tolist()[-1] == 2
    assert run.metrics["samples"].tolist()[-1] == 80
    assert torch.allclose(row(run.consensus), row(module), atol=1e-6)


def test_whole_short_shares_count_the_samples_of_each_step():
    """Batches of 10, 3 and 7: 2 passes over 40 samples are 4 steps, evaluated each half epoch."""
    rows = quick(**short()).metrics
    assert rows["step"].tolist() == [0, 1, 2, 3, 4]
    assert rows["samples"].tolist() == [0, 20, 40, 60, 80]
    assert rows["epoch"].tolist() == [0, 0.5, 1, 1.5, 2]
    same = short(sizes=(20, 20), batch_size=10)
    metrics = ["samples", "consensus_loss", "V"]
    whole, error = (
        quick(**{**same, "short_share": each}).metrics[metrics] for each in ("whole", "error")
    )
    assert whole.equals(error)  # no share is short


@pytest.mark.parametrize("short_share", ["repeat", "whole"])
def test_a_run_with_short_shares_resumes_with_equal_bytes(short_share, tmp_path):
    fields = short(short_share, epochs=4)
    quick(**fields, out=tmp_path, on_step=stop_at(3))
    seen = []
    resumed = quick(**fields, out=tmp_path, on_step=lambda state: seen.append(state.step))
    assert seen[0] == 4
    assert equal(resumed, quick(**fields))


def test_short_shares_have_the_same_bytes_on_backends_that_take_them():
    for short_share, others in (("whole", ["threads", "auto"]), ("repeat", ["threads"])):
        run = quick(**short(short_share), backend="loop")
        for backend in others:
            other = quick(**short(short_share), backend=backend)
            assert [row(each).tolist() for each in other.models] == (
                [row(each).tolist() for each in run.models]
            )
    assert len(quick(**short("repeat"), backend="vmap").models) == 3
    assert len(quick(**short("repeat"), clock="asynchronous").models) == 3


def test_whole_short_shares_are_refused_where_batches_must_be_equal(own_entries, digits):
    assert told(**short(), backend="vmap") == (
        "short_share: 'whole' gives workers batches of different sizes, and backend 'vmap' takes "
        "equal ones; it must be auto, loop or threads."
    )
    assert told(**short(), clock="waiting").startswith("short_share: 'whole' gives workers steps")

    @method("places", fields=("topology",))
    def places(step):
        step.samples()

    assert "method 'places' takes equal ones" in told(**short(), method="places")
    with pytest.raises(UserError, match="short_share: 'whole' is not possible in a distributed ru"):
        check(digits_run(short_share="whole"), Path("x"), 2)
    normalized = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    assert "module: it failed" in told(module=normalized, **short(sizes=(30, 1, 7)))
    spec = digits_run(short_share="whole", partition="dirichlet", beta=0.01)
    parts = [np.arange(1000), np.arange(1000, 1400), np.arange(1400, 1436), np.arange(1436, 1437)]
    model = replace(MODELS["mnist_cnn"], smallest_batch=2)
    with pytest.raises(UserError, match="short_share: 'whole' gives worker 3 a batch of 1, too sm"):
        make_problem(spec, digits, parts, model=model)
