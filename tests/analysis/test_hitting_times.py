"""First hitting times."""

import math

import pandas as pd
from made_up import TABLE_A1

from ngo.analysis import comparisons, hitting_times
from ngo.analysis.criteria import HITTING_TIME


def run(name, protocol, accuracies, *, seed=0, epochs=(0, 1, 2, 3)):
    frame = pd.DataFrame({"epoch": epochs, "consensus_accuracy": accuracies})
    facts = {"dataset": "mnist", "partition": "iid", "topology": "ring", "classes_covered": 10}
    frame = frame.assign(run=name, protocol=protocol, seed=seed, **facts)
    return frame.assign(step=range(len(frame)), diverged=False, consensus_loss=1.0)


def test_first_hitting_is_the_first_evaluation_there():
    metrics = pd.concat(
        [
            run("a", "ngo", [0.1, 0.7, 0.6, 0.8]),
            run("b", "ngo", [0.1, 0.69, 0.7, 0.8], epochs=(0, 0.5, 1.5, 2)),
            run("c", "ngo", [0.1, 0.2, 0.3, 0.69]),
        ]
    )
    found = hitting_times.first_hitting(metrics, pd.Series(0.7, index=["a", "b", "c"]))
    assert found[["a", "b"]].tolist() == [1, 1.5]
    assert math.isnan(found["c"])


def test_the_target_is_the_lowest_final_accuracy_of_the_same_seed():
    metrics = pd.concat(
        [
            run("a", "gossip", [0.1, 0.4, 0.5, 0.6]),
            run("b", "ngo", [0.1, 0.6, 0.9, 0.9]),
            run("c", "gossip", [0.1, 0.4, 0.9, 0.8], seed=1),
            run("d", "ngo", [0.1, 0.7, 0.7, 0.9], seed=1),
        ],
        ignore_index=True,
    )
    hit = hitting_times.with_first_hitting(metrics)
    assert hit.groupby("run")["first_hitting"].first().tolist() == [3, 1, 2, 3]
    table = comparisons.protocol_table(hit, TABLE_A1, [HITTING_TIME])
    assert table["consensus"].tolist() == [2.5, 2]
    assert table["paper"].tolist() == [50, 48]
    assert table["consensus_minus_paper"].isna().all()  # its unit is not stated
    assert table["ngo_minus_gossip"].iloc[1] == -0.5


def test_a_diverged_run_hits_nothing_and_sets_no_target():
    metrics = pd.concat(
        [run("a", "gossip", [0.1, 0.6, 0.6, 0.6]), run("b", "ngo", [0.1, 0.7, 0.1, 0.1])],
        ignore_index=True,
    )
    metrics["diverged"] = (metrics["run"] == "b") & (metrics["step"] == 3)
    hit = hitting_times.with_first_hitting(metrics).groupby("run")["first_hitting"].first()
    assert hit["a"] == 1
    assert math.isnan(hit["b"])
