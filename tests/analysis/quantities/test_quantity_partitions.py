import pandas as pd

from ngo.analysis.quantities.partitions import (
    batches_of_steps,
    classes_of_workers,
    samples_of_workers,
    samples_used,
)

COUNTS = pd.DataFrame(
    [("mnist", w, c, m) for w, samples in enumerate(([3, 1, 0], [0, 0, 4], [2, 2, 1]))
     for c, m in enumerate(samples)],
    columns=["dataset", "worker", "label", "samples"],
)  # fmt: skip


def test_samples_of_each_worker():
    found = samples_of_workers(COUNTS, 4)
    assert found["measured"].tolist() == [4, 4, 5]
    assert found["met"].tolist() == [True, True, False]
    assert found["case"].iloc[0] == "dataset mnist, worker 0"


def test_classes_of_each_worker():
    found = classes_of_workers(COUNTS, 2)
    assert found["measured"].tolist() == [2, 1, 3]
    assert found["met"].tolist() == [True, True, False]


def test_samples_of_all_workers():
    assert samples_used(COUNTS, 13)["met"].tolist() == [True]
    assert samples_used(COUNTS, 60)["met"].tolist() == [False]


def test_batches_of_a_step():
    runs = pd.DataFrame({"run": ["a", "a", "b"], "step": [5, 10, 10], "workers": [4, 4, 8]})
    runs = runs.assign(batch_size=32, samples=32 * runs["step"] * [4, 4, 7], diverged=False)
    found = batches_of_steps(runs)
    assert found["case"].tolist() == ["workers 4", "workers 8"]
    assert found["measured"].tolist() == [4, 7]
    assert found["met"].tolist() == [True, False]
