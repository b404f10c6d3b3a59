import numpy as np
import pandas as pd

from ngo.analysis.universes import Universe, in_universes


def runs():
    steps = {"step": [10, 0], "consensus_accuracy": [0.9, 0.1], "workers_accuracy_mean": [0.8, 0.1]}
    return pd.concat([pd.DataFrame({"run": run, **steps}) for run in "ab"], ignore_index=True)


def test_a_run_has_rows_in_each_of_its_universes():
    universes = [Universe(0, {"p": 0.9, "lr": 0.1}, ("a",)), Universe(3, {"p": 0.7}, ("a", "b"))]
    table = in_universes(runs(), universes)
    assert [*table["universe"]] == [0, 0, 3, 3, 3, 3]
    assert [*table["run"]] == [*"aa", *"aabb"]
    assert [*table["step"]] == [0, 10] * 3
    assert [*table["universe_p"]] == [0.9, 0.9, 0.7, 0.7, 0.7, 0.7]
    assert "chosen_accuracy" not in table


def test_the_chosen_accuracy_is_that_of_the_workers_or_of_their_mean():
    table = in_universes(
        runs(),
        [Universe(k, {"accuracy_of": of}, ("a",)) for k, of in enumerate(("workers", "mean"))],
    )
    ends = table[table["step"] == 10]
    assert np.allclose(ends["chosen_accuracy"], [0.8, 0.9])
    assert [*ends["universe_accuracy_of"]] == ["workers", "mean"]
