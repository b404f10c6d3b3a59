import pytest
from measured_runs import ended, table

from verdicts.registry import UserError
from verdicts.rows.best_fields import FIRST_LOOK, at_best


def runs(scores, *, value="held_out", **fields):
    """Two seeds at each γ; ``scores`` are their numbers."""
    return table(
        *(
            ended(seed=s, gamma=g, p=fields.get("p", 0.9), topology="ring", **{value: x})
            for g, both in scores.items()
            for s, x in enumerate(both)
        )
    )


def test_the_best_mean_held_out_accuracy_decides():
    rows = runs({0.1: (0.5, 0.9), 0.3: (0.8, 0.8), 1.0: (0.9, 0.3)})
    assert at_best(rows, ["gamma"], [])["gamma"].unique() == [0.3]


def test_ties_go_to_the_smaller_gamma():
    rows = runs({0.3: (0.8, 0.6), 0.1: (0.6, 0.8)})
    assert at_best(rows, ["gamma"], ["topology"])["gamma"].unique() == [0.1]


def test_a_value_with_a_diverged_run_comes_last():
    rows = runs({0.1: (0.2, 0.2)})
    lost = table(
        ended(seed=0, gamma=1.0, p=0.9, topology="ring", held_out=0.9),
        ended(seed=1, gamma=1.0, p=0.9, topology="ring", held_out=0.9, diverged=True),
    )
    both = table(rows.to_dict("records"), lost.to_dict("records"))
    assert at_best(both, ["gamma"], [])["gamma"].unique() == [0.1]


def test_other_values_are_chosen_by_their_own_mean_logarithm():
    rows = runs({0.1: (1.0, 100.0), 0.3: (8.0, 8.0)}, value="V")
    # Geometric means 10 and 8.
    assert at_best(rows, ["gamma"], [], "V")["gamma"].unique() == [0.3]


def test_each_group_has_its_own_best():
    rows = table(
        *(
            ended(seed=s, p=p, gamma=g, held_out=0.5 + (g == best) / 10)
            for p, best in ((0.7, 0.1), (0.9, 0.3))
            for g in (0.1, 0.3)
            for s in (0, 1)
        )
    )
    found = at_best(rows, ["gamma"], ["p"]).drop_duplicates("p").set_index("p")["gamma"]
    assert found.to_dict() == {0.7: 0.1, 0.9: 0.3}


def test_the_seeds_of_the_first_look_choose_for_all():
    rows = runs({0.1: (0.5, 0.9), 0.3: (0.6, 0.3)})
    assert at_best(rows, ["gamma"], [])["gamma"].unique() == [0.1]
    for value in ("accuracy", "V"):
        marked = rows.assign(**{FIRST_LOOK: rows["seed"] == 0}, V=1 - rows["holdout_accuracy"])
        found = at_best(marked, ["gamma"], [], value)
        assert found["gamma"].unique() == [0.3]
        assert set(found["seed"]) == {0, 1}


def test_errors():
    rows = runs({0.1: (float("nan"), float("nan"))})
    with pytest.raises(UserError, match="no run has a held-out accuracy"):
        at_best(rows.assign(holdout_accuracy=float("nan")), ["gamma"], [])
    with pytest.raises(UserError, match="best: there is no column 'gama'. Did you mean 'gamma'?"):
        at_best(rows, ["gama"], [])
