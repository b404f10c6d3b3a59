"""Described data in the pipeline: its runs follow its content."""

import numpy as np
import yaml
from clone import Clone, assert_one_line

OVERLAY = {
    "tier": "test",
    "device": "cpu",
    "seeds": [0],
    "plugins": ["marks.yaml"],
    "settings": {
        "marks": {"dataset": "marks", "model": "mnist_fc", "partition": "natural", "workers": 3,
                  "batch_size": 4, "epochs": 0.5},
        "digits": {"dataset": "digits", "model": "mnist_fc", "partition": "iid", "workers": 2,
                   "batch_size": 8, "epochs": 0.05},
    },
    "training": {
        "mine": {"settings": ["marks", "digits"], "compare": [{"method": "gossip"}]},
    },
}  # fmt: skip


def save(root, seed):
    rng, labels = np.random.default_rng(seed), np.arange(60) % 3
    images = rng.integers(0, 256, (60, 28, 28), dtype=np.uint8)
    pairs = {"x_train": images[:48], "y_train": labels[:48], "owner_train": np.arange(48) // 8}
    np.savez(root / "data/marks.npz", **pairs, x_test=images[48:], y_test=labels[48:])


def test_another_content_is_refused_until_it_is_described_and_reruns_its_runs_alone(tmp_path):
    clone = Clone(tmp_path / "ngo")
    (clone.root / "data").mkdir()
    (clone.root / "test.yaml").write_text(yaml.safe_dump(OVERLAY))
    data = {"NGO_DATA": str(clone.root / "data")}

    def describe():
        words = ["describe", "data/marks.npz", "--data-root", "data", "--out", "marks.yaml"]
        clone.ngo(*words)

    save(clone.root, seed=0)
    describe()
    clone.snakemake("mine", **data)
    assert clone.planned("mine", **data) == {}
    save(clone.root, seed=1)
    (clone.root / "marks.yaml").write_text(
        (clone.root / "marks.yaml").read_text() + "\n# A note.\n"
    )
    assert clone.planned("mine", **data) == {}
    out = clone.snakemake("mine", "--forcerun", "train", code=1, **data)
    assert_one_line(out, "data.root: the content of '.*marks.npz' is not the described one")
    describe()
    again = {"data": 1, "partition": 1, "train": 1, "aggregate": 1, "mine": 1}
    assert clone.planned("mine", **data) == again
