"""What captions say of what made a table or figure."""

import pandas as pd
from cases import cases

from ngo.plots import captions


def test_a_caption_says_what_made_it():
    runs = pd.DataFrame({"dataset": ["digits", "digits"], "seed": [0, 4]})
    told = "Tier demo; data: digits, in place of the paper's mnist; 2 seeds."
    assert captions.made_by("demo", runs) == told
    mnist = pd.DataFrame({"dataset": ["mnist"], "seed": [0], "train_samples": [60_000]})
    assert captions.made_by("laptop", mnist) == "Tier laptop; data: mnist; 1 seed."
    told = captions.made_by("laptop", mnist, paper="cifar10")
    assert "data: mnist, in place of the paper's cifar10;" in told
    assert captions.made_by("paper", mnist, paper="mnist") == "Tier paper; data: mnist; 1 seed."


def test_seeds_are_counted_by_combination_and_older_runs_lack_fields():
    runs = pd.DataFrame(
        {"dataset": "mnist", "partition": "shards", "method": ["gossip", "ngo", "ngo", "ngo"],
         "seed": [0, 0, 1, 2], "schedule": [None, None, "constant", "constant"]}
    )  # fmt: skip
    assert captions.made_by("laptop", runs).endswith("; 1 to 3 seeds.")


def test_a_caption_says_what_the_runs_had_in_common_and_where_they_vary():
    runs = pd.DataFrame(
        {"dataset": "mnist", "partition": ["iid", "iid", "shards"], "seed": [0, 1, 0],
         "method": ["gossip", "centralized", "ngo"], "gamma": [0.1, None, 0.1],
         "p": [1.0, None, 0.9], "epochs": [4.0, 4.0, 20.0]}
    )  # fmt: skip
    told = "Tier laptop; data: mnist; γ = 0.1; p = 0.9; 4–20 epochs; 1 seed."
    assert captions.made_by("laptop", runs) == told
    methods = ["ngo", "ngo", "gossip"]
    spread = runs.assign(
        method=methods, p=[0.6, 0.9, 1.0], gamma=[0.1, 0.3, 1.0], epochs=1.0, partition="iid"
    )
    told = "Tier laptop; data: mnist; γ = 0.1–1; p = 0.6–0.9; 1 epoch; 1 seed."
    assert captions.made_by("laptop", spread) == told
    assert "; p = 1; " in captions.made_by("laptop", spread.assign(p=1.0))


@cases(
    "given, stated",
    ([("d2", 0.9), ("d2", 1), ("ngo", 0.9), ("ngo", 1)], "p = 0.9–1;"),
    ([("d2", 0.9), ("d2", 1), ("gossip", 1)], "p = 0.9–1;"),
    ([("ngo", 0.9), ("ngo", 1)], "p = 0.9–1;"),
    ([("ngo", 1), ("d2", 0.9)], "p = 0.9–1;"),
    ([("d2", 1), ("gossip", 1), ("dsgd", 1), ("ngo", 0.9)], "p = 0.9;"),
    ([("d2", 1), ("gossip", 1), ("centralized", None)], "p = 1;"),
)
def test_a_caption_does_not_hide_that_p_is_1_where_it_was_chosen(given, stated):
    runs = pd.DataFrame(given, columns=["method", "p"]).assign(dataset="mnist", seed=0)
    assert stated in captions.made_by("own", runs)


def test_fewer_than_three_seeds_have_no_intervals():
    one, two, three = (pd.DataFrame({"seed": range(seeds)}) for seeds in (1, 2, 3))
    assert captions.intervals(one) == ""
    assert captions.intervals(two).startswith("Means over seeds; no intervals below 3 seeds")
    assert "95 % Student t" in captions.intervals(three)
    for runs in (two, three):
        assert "geometric" in captions.intervals(runs)
        assert "geometric" not in captions.intervals(runs, geometric=False)


def test_diverged_runs_are_counted_once():
    rows = pd.DataFrame({"run": ["a", "a", "b", "b"], "diverged": [False, False, True, True]})
    assert captions.diverged(rows).startswith("1 of 2 runs diverged (×)")
    assert captions.diverged(rows, means=False) == "1 of 2 runs diverged (×)."
    assert captions.diverged(rows[:2]) == ""
