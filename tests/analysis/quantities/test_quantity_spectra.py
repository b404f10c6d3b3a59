import pandas as pd
import pytest

from ngo.analysis.quantities.spectra import (
    messages_of_a_worker,
    printed_gaps,
    random_degrees,
    smallest_gap,
)
from ngo.common.registry import UserError


def spectra(*rows):
    names = ["topology", "n", "u", "draws", "degree", "spectral_gap"]
    return pd.DataFrame(rows, columns=names)


NAN = float("nan")
FOUR = spectra(
    ("ring", 4, NAN, 1, 2.0, 2 / 3), ("random", 4, 0.4, 200, 1.2, 0.13),
    ("complete", 4, NAN, 1, 3.0, 1.0),
)  # fmt: skip
SIXTEEN = spectra(
    ("ring", 16, NAN, 1, 2.0, 0.0507), ("random", 16, 0.4, 200, 6.0, 0.27),
    ("complete", 16, NAN, 1, 15.0, 0.4),
)  # fmt: skip


def test_gaps_are_compared_as_they_are_printed():
    found = printed_gaps(pd.concat([FOUR, SIXTEEN])).set_index("case")["met"]
    assert found.to_dict() == {
        "topology ring, n 4": True, "topology ring, n 16": True,
        "topology complete, n 4": True, "topology complete, n 16": False,
    }  # fmt: skip
    with pytest.raises(UserError, match="no row is left for this statement"):
        printed_gaps(FOUR[FOUR["topology"] == "random"])


def test_the_smallest_gap_for_each_n():
    found = smallest_gap(pd.concat([FOUR, SIXTEEN]))
    assert found["case"].tolist() == ["topology ring, n 4", "topology ring, n 16"]
    assert found["met"].tolist() == [False, True]
    assert found["limit"].tolist() == [0.13, 0.27]
    with pytest.raises(UserError, match="topology: 'web' is unknown"):
        smallest_gap(FOUR, "web")


def test_degrees_of_random_graphs():
    # u(n − 1) is 1.2 and 6; un is 1.6 and 6.4; four standard errors are 0.17 and 0.19.
    both = pd.concat([FOUR, SIXTEEN])
    assert random_degrees(both, "u(n-1)")["met"].tolist() == [True, True]
    assert random_degrees(both, "un")["met"].tolist() == [False, False]
    few = both.assign(draws=5)
    assert random_degrees(few, "un")["met"].all()
    with pytest.raises(UserError, match="form: 'nu' is unknown; allowed: u\\(n-1\\), un"):
        random_degrees(both, "nu")


def test_messages_of_a_worker_are_those_of_the_first_round_alone():
    rows = pd.DataFrame({"topology": "d_cliques", "workers": [10, 10, 20], "seed": [0, 1, 0]})
    rows = rows.assign(messages=[94, 94, 191])
    rows = pd.concat([rows.assign(round=k, messages=k * rows["messages"]) for k in (1, 2)])
    found = messages_of_a_worker(rows, 9.4)
    cases = ["topology d_cliques, workers 10", "topology d_cliques, workers 20"]
    assert found["case"].tolist() == cases
    assert found["measured"].tolist() == [9.4, 9.55]
    assert found["met"].tolist() == [True, False]
