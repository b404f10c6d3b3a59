import pytest
import torch
from small_theory import OPTIONS, asked, holds, small_rows

from ngo.theorems.descent_lemma import curved_problem, sides


def test_curvatures_are_those_asked_for():
    problem = curved_problem(OPTIONS, 2)
    assert (problem.mu, problem.L) == pytest.approx((1, 10))


def test_the_left_side_is_the_mean_over_simulated_steps():
    problem, eta, batch = curved_problem(OPTIONS, 2), 0.02, 3
    X = torch.tensor([[[0.7]], [[-0.4]]], dtype=torch.float64)
    left, right = sides(problem, X, eta, batch)
    draws = 200_000
    batches = torch.randint(
        problem.A.shape[1], (2, draws, batch), generator=torch.Generator().manual_seed(0)
    )
    moved = X.expand(2, draws, 1) - eta * problem.gradient(X.expand(2, draws, 1), batches)
    squares = (moved.mean(0) - problem.optimum).square().sum(-1)
    error = float(squares.std()) / draws**0.5
    assert float(left) == pytest.approx(float(squares.mean()), abs=4 * error)
    assert right["printed"] < right["supplement"]  # L is larger than Lη


def test_the_main_texts_coefficient_is_too_small():
    worst = small_rows("descents").groupby("form")[["broken"]].max()["broken"]
    assert worst["printed"] > 0.05
    assert worst["supplement"] == 0


def test_a_form_is_judged_by_its_own_rows():
    rows = [
        {"form": form, "n": 2, "eta_L": 0.1, "left": 1.01, "right": right}
        for form, right in (("printed", 1.0), ("supplement", 1.1))
    ]
    assert not asked("theory_descent_lemma", "descents", rows, form="printed")["met"].any()
    assert asked("theory_descent_lemma", "descents", rows, form="supplement")["met"].all()
    assert not holds("theory_descent_lemma", "descents", form="printed")
    assert holds("theory_descent_lemma", "descents", form="supplement")
