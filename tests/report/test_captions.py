"""What captions say of what made a table or figure."""

import pandas as pd

from ngo.report import captions


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


def test_a_data_set_that_is_there_in_part_says_so():
    runs = pd.DataFrame({"dataset": ["tinyimagenet"], "seed": [0], "train_samples": [12_500]})
    assert "tinyimagenet (12,500 of its 100,000 training images)" in captions.made_by("paper", runs)


def test_one_seed_has_no_intervals():
    one, two = pd.DataFrame({"seed": [0, 0]}), pd.DataFrame({"seed": [0, 1]})
    assert captions.intervals(one) == ""
    assert "95 % Student t" in captions.intervals(two)
    assert "geometric" in captions.intervals(two)
    assert "geometric" not in captions.intervals(two, geometric=False)


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
