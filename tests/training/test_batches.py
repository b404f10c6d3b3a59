import re
from dataclasses import replace

import numpy as np
import torch
from own_modules import equal, quick, row, stop_at, told

from ngo.common.registries import AUGMENTATIONS, TASKS
from ngo.common.seeding import torch_stream
from ngo.training.batches import Batches, BatchStream


def test_batches_pass_over_all_samples_are_always_full_and_restored():
    owned = np.array([3, 5, 8, 13, 21])
    stream = BatchStream(owned, 2, torch_stream(0, "batches", 0))
    drawn = torch.cat([stream.take(1)[0] for _ in range(10)]).tolist()
    for k in range(4):
        assert sorted(drawn[5 * k : 5 * k + 5]) == owned.tolist()
    assert drawn[:5] != drawn[5:10]

    def fresh(seed):
        return BatchStream(np.arange(10), 4, torch_stream(seed, "batches", 0))

    for drawn in (*range(7), 63, 64, 65, 200):
        first, second = fresh(0), fresh(1)
        for _ in range(drawn):
            first.take(1)
        second.load_state_dict(first.state_dict())
        for _ in range(5):
            assert torch.equal(first.take(1), second.take(1))


def streams():
    """The batches of three workers, each from its start."""
    return [BatchStream(np.arange(50), 8, torch_stream(0, "batches", i)) for i in range(3)]


def changes():
    return [torch_stream(0, "augmentation", i) for i in range(3)]


def test_whoever_draws_ahead_all_take_the_same_batches(digits):
    """All workers together, some by themselves, from a saved state, or those of a joined run."""
    expected = streams()

    def fresh():
        return Batches(TASKS["classification"], digits, streams())

    batches, other = fresh(), fresh()
    joined = Batches.joined([batches, other])
    for workers in (None, None, [2, 0], [1], None, "joined", None):
        if workers == "joined":
            joined.all()
            drawn = batches.drawn
            assert torch.equal(joined.drawn, torch.cat([drawn, other.drawn]))
        else:
            batches.workers = workers
            batches.all()
            drawn = batches.drawn
        rows = workers if isinstance(workers, list) else range(3)
        assert torch.equal(drawn, torch.cat([expected[i].take(1) for i in rows]))
        batches.load_state_dict(batches.state_dict())


def test_each_workers_images_are_changed_from_its_own_stream(digits):
    task, augment = TASKS["classification"], AUGMENTATIONS["crop_flip"]
    batches = Batches(task, digits, streams(), augment=augment, changes=changes())
    same, each = streams(), changes()
    for _ in range(2):
        inputs, targets = batches.all()
        for i in range(3):
            samples = same[i].take(1)[0]
            changed = augment.of_workers(digits.train_inputs[samples], len(samples), [each[i]])
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
        batches, same = (Batches(task, data, streams(), changes=changes(), **how) for _ in range(2))
        for _ in range(2):
            rows = batches.rows()
            assert (rows.inputs is data.train_inputs) != copied
            own = slice(None) if copied else rows.samples.flatten()
            inputs, targets = rows.inputs[own], rows.targets[own]
            if rows.shades is not None:  # of one channel
                inputs = rows.shades[0][inputs.long()]
            expected = [each.flatten(0, 1) for each in same.all()]
            assert all(torch.equal(*pair) for pair in zip((inputs, targets), expected, strict=True))


def short(short_share, sizes=(30, 3, 7), batch_size=10, **fields):
    """A fit of workers that own this many samples."""
    ends = np.cumsum([0, *sizes])
    parts = [range(*ends[i : i + 2]) for i in range(len(sizes))]
    given = {"partition": parts, "workers": len(sizes), "topology": "complete", "epochs": 2}
    return {**given, "short_share": short_share, "batch_size": batch_size, **fields}


def test_short_shares_are_named_or_repeat_and_count_all_samples():
    for more, worker, share in (({}, 1, 3), ({"partition": "iid"}, 0, 16)):
        text = told(**{**short("error", batch_size=20), **more})
        assert f"batch_size: 20 is larger than worker {worker}'s share of {share} samples" in text
    random = told(partition="dirichlet", beta=0.5, batch_size=40)
    assert re.search("batch_size: 40 is larger than worker [0-2]'s share of [0-9]+ sam", random)
    rows = quick(**short("repeat", sizes=[6] * 8)).metrics
    assert rows["samples"].iloc[-1] == rows["step"].iloc[-1] * 80
    assert rows["epoch"].tolist() == (rows["samples"] / 48).tolist()
    assert rows["step"].iloc[-1] == round(2 * 48 / 80)


def test_a_run_with_short_shares_resumes_with_equal_bytes_on_any_threads(tmp_path):
    fields = short("repeat", epochs=4)
    quick(**fields, out=tmp_path, on_step=stop_at(3))
    seen = []
    resumed = quick(**fields, out=tmp_path, on_step=lambda state: seen.append(state.step))
    assert seen[0] == 4
    assert equal(resumed, quick(**fields))
    loop, threads = (quick(**fields, backend=name) for name in ("loop", "threads"))
    pairs = zip(loop.models, threads.models, strict=True)
    assert all(torch.equal(*map(row, pair)) for pair in pairs)
    assert len(quick(**fields, backend="vmap").models) == 3
    assert len(quick(**fields, clock="asynchronous").models) == 3
