import numpy as np
import pandas as pd
import pytest
from runs import digits_run

from ngo.analysis.heterogeneity import heterogeneity
from ngo.analysis.results import class_counts
from ngo.data.heterogeneity import hellinger_to_global
from ngo.data.partition import summary
from ngo.training.partition_file import draw, write


def test_a_row_for_each_partition_with_its_fields_and_measures(digits, tmp_path):
    specs = [
        *(digits_run(partition="dirichlet", beta=beta, batch_size=1) for beta in (0.1, 1.0, 10.0)),
        digits_run(),
    ]
    drawn = [draw(spec, digits.labels) for spec in specs]
    for k, (spec, parts) in enumerate(zip(specs, drawn, strict=True)):
        write(tmp_path / f"{k}.parquet", spec, digits.labels, parts)
    found = heterogeneity(class_counts(tmp_path / f"{k}.parquet" for k in range(4)))
    assert found["partition"].tolist() == [spec.partition for spec in specs]
    assert found["beta"].tolist()[:3] == [0.1, 1.0, 10.0]
    assert np.isnan(found["beta"][3])
    wanted = [hellinger_to_global(summary(digits.labels, parts, 10).counts) for parts in drawn]
    assert found["hellinger"].tolist() == pytest.approx(wanted)
    for name in ("hellinger", "hellinger_pairwise"):
        assert (np.diff(found[name][:3]) < 0).all()
    assert (np.diff(found["label_entropy"][:3]) > 0).all()


def test_one_class_for_each_worker():
    index = pd.MultiIndex.from_product([range(4), range(4)], names=["worker", "label"])
    counts = index.to_frame(index=False).assign(dataset="made_up", seed=0)
    counts["samples"] = 5 * (counts["worker"] == counts["label"])
    (row,) = heterogeneity(counts).to_dict("records")
    assert row == {
        "dataset": "made_up", "seed": 0,
        "hellinger": pytest.approx(np.sqrt(0.5)), "hellinger_pairwise": 1, "label_entropy": 0,
    }  # fmt: skip
