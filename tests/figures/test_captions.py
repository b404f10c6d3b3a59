"""What captions say of what made a table or figure."""

import pandas as pd
import pytest

from ngo.figures import captions


def test_a_caption_says_what_made_it():
    runs = pd.DataFrame({"dataset": ["digits", "digits"], "seed": [0, 4]})
    assert captions.made_by("demo", runs) == (
        "Tier demo; data: digits, in place of the paper's mnist; 2 seeds."
    )
    mnist = pd.DataFrame({"dataset": ["mnist"], "seed": [0], "train_samples": [60_000]})
    assert captions.made_by("laptop", mnist) == "Tier laptop; data: mnist; 1 seed."
    assert "data: mnist, in place of the paper's cifar10;" in captions.made_by(
        "laptop", mnist, paper="cifar10"
    )
    assert captions.made_by("paper", mnist, paper="mnist") == "Tier paper; data: mnist; 1 seed."


def test_a_caption_says_what_the_runs_had_in_common_and_where_they_vary():
    runs = pd.DataFrame(
        {"dataset": "mnist", "partition": ["iid", "iid", "shards"], "seed": [0, 1, 0],
         "method": ["gossip", "centralized", "ngo"], "gamma": [0.1, None, 0.1],
         "p": [1.0, None, 0.9], "epochs": [4.0, 4.0, 20.0]}
    )  # fmt: skip
    assert captions.made_by("laptop", runs) == (
        "Tier laptop; data: mnist; γ = 0.1; p = 0.9; 4–20 epochs; 1 to 2 seeds."
    )
    methods = ["ngo", "ngo", "gossip"]
    spread = runs.assign(
        method=methods, p=[0.6, 0.9, 1.0], gamma=[0.1, 0.3, 1.0], epochs=1.0, partition="iid"
    )
    assert captions.made_by("laptop", spread) == (
        "Tier laptop; data: mnist; γ = 0.1–1; p = 0.6–0.9; 1 epoch; 2 seeds."
    )
    assert "; p = 1; " in captions.made_by("laptop", spread.assign(p=1.0))


@pytest.mark.parametrize(
    ("given", "stated"),
    [
        ([("d2", 0.9), ("d2", 1), ("ngo", 0.9), ("ngo", 1)], "p = 0.9–1;"),
        ([("d2", 0.9), ("d2", 1), ("gossip", 1)], "p = 0.9–1;"),
        ([("ngo", 0.9), ("ngo", 1)], "p = 0.9–1;"),
        ([("ngo", 1), ("d2", 0.9)], "p = 0.9–1;"),
        ([("d2", 1), ("gossip", 1), ("dsgd", 1), ("ngo", 0.9)], "p = 0.9;"),
        ([("d2", 1), ("gossip", 1), ("centralized", None)], "p = 1;"),
    ],
)
def test_a_caption_does_not_hide_that_p_is_1_where_it_was_chosen(given, stated):
    runs = pd.DataFrame(given, columns=["method", "p"]).assign(dataset="mnist", seed=0)
    assert stated in captions.made_by("own", runs)


def test_a_table_with_methods_and_without_p_states_none():
    runs = pd.DataFrame({"method": ["ngo"], "dataset": ["mnist"], "seed": [0]})
    assert "p = " not in captions.made_by("own", runs)


def test_a_caption_says_that_curves_use_a_part_of_the_test_set():
    runs = pd.DataFrame({"dataset": ["mnist"], "seed": [0], "eval_images": [1000]})
    assert "; evaluations before the last use 1,000 of the test images; " in captions.made_by(
        "laptop", runs
    )
    assert "test images" not in captions.made_by("laptop", runs.assign(eval_images=0))


def test_a_caption_says_that_a_sample_of_the_workers_is_evaluated():
    runs = pd.DataFrame({"dataset": "mnist", "seed": [0], "workers": [1024], "eval_workers": [0]})
    assert "; evaluations score 64 of the workers; " in captions.made_by("laptop", runs)
    assert "of the workers" not in captions.made_by("laptop", runs.assign(workers=64))
    assert "of the workers" not in captions.made_by("laptop", runs.assign(eval_workers=1024))


def test_a_table_of_too_few_seeds_announces_no_interval():
    runs = pd.DataFrame({"dataset": "mnist", "seed": [0, 1]})
    assert captions.mean_over_seeds(runs) == "mean over seeds (no interval below 3 seeds)"
    more = pd.DataFrame({"dataset": "mnist", "seed": [0, 1, 2]})
    assert captions.mean_over_seeds(more) == "mean ± 95 % interval over seeds"


def test_a_data_set_that_is_there_in_part_says_so():
    runs = pd.DataFrame({"dataset": ["tinyimagenet"], "seed": [0], "train_samples": [12_500]})
    assert "tinyimagenet (12,500 of its 100,000 training images)" in captions.made_by("paper", runs)


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


def test_classes_that_no_worker_has_are_told():
    runs = pd.DataFrame({"dataset": "mnist", "classes_covered": [9.0, 10.0]})
    assert captions.classes(runs) == "The workers' samples cover 9 to 10 of mnist's 10 classes."
    assert captions.classes(runs.assign(classes_covered=10.0)) == ""
    assert captions.classes(pd.DataFrame({"dataset": ["sine"], "classes_covered": [None]})) == ""


def test_a_caption_says_that_different_versions_made_the_runs():
    runs = pd.DataFrame(
        {"dataset": "mnist", "seed": [0, 0, 1, 2], "run": ["a", "a", "b", "c"],
         "versions": ["torch 2.0", "torch 2.0", "torch 2.1", "torch 2.1"]}
    )  # fmt: skip
    sentence = "Different versions made the runs: torch 2.1 (2 runs), torch 2.0 (1 run)."
    assert captions.made_by("laptop", runs) == f"Tier laptop; data: mnist; 3 seeds. {sentence}"
    assert captions.mixed_versions([runs, runs.drop(columns="versions")]) == sentence
    assert captions.mixed_versions([runs.drop(columns="versions")]) == ""


def test_a_span_of_one_value_is_the_value():
    assert captions.span(pd.Series([2, 4, 3])) == "2 to 4"
    assert captions.span(pd.Series([1200, 1200]), "{:,}") == "1,200"
