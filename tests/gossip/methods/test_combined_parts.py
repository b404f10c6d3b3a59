"""Methods with other local rules, weight decay and failures, on heterogeneous least squares."""

import by_worker
import numpy as np
import pytest
import torch
from by_worker import D, N
from stepping import Stepping
from test_drift_corrections import A, B, gradients

from ngo.gossip.exchange import Failures, unchanged
from ngo.gossip.mixing_matrix import MixingMatrix, mixing_matrix
from ngo.gossip.topologies.static import ring

W = MixingMatrix.of(mixing_matrix(ring(N)))
BEST = by_worker.solution(A, B)
UNBIASED = ("d2", "exact_diffusion", "gradient_tracking", "extra", "admm", "proxskip")
MU, DECAY = 0.9, 0.1


def trained(method, steps, *, link_failure=0.0, absence=0.0, drop=None, **values):
    """The workers' states ``[n, d]``; the learning rate is divided by 10 at the step ``drop``."""
    values = {"gamma": 0.8, "p": 1.0, "momentum": MU, "qg_momentum": MU, **values}
    stepping = Stepping(method, torch.zeros(N, D).double(), W, **values)
    failures = Failures(N, 0, link_failure=link_failure, absence=absence)
    for t in range(steps):
        if t == drop:
            stepping.run.lr /= 10
        absent = failures.absent(t)
        if link_failure or absence:
            stepping.W = failures.matrix(W, absent)
        with unchanged(absent, stepping.X, *stepping.matrices.values()):
            stepping.advance(gradients(stepping.X))
    return stepping.X.numpy()


def regularised(decay):
    """The minimum of the mean objective plus λ‖x‖²/2."""
    return np.linalg.solve(
        sum(a.T @ a / 8 + decay * np.eye(D) for a in A),
        sum(a.T @ b / 8 for a, b in zip(A, B, strict=True)),
    )


def test_adam_goes_with_gradient_tracking_and_not_with_d2():
    """At the optimum, y_i is 0 for all; D² cancels half steps whose sum is not 0 there."""
    errors = {
        method: np.abs(trained(method, steps, lr=0.01, rule="adam") - BEST).max()
        for method, steps in (("gradient_tracking", 800), ("d2", 300), ("exact_diffusion", 300))
    }
    assert errors["gradient_tracking"] < 1e-6
    assert min(errors["d2"], errors["exact_diffusion"]) > 0.5


@pytest.mark.parametrize("method", UNBIASED)
def test_weight_decay_is_that_of_the_regularised_problem(method):
    """½λ‖x‖² in each worker's objective; counted twice or not at all, it would be another one."""
    actual = trained(method, 500, lr=0.05, rule="momentum", weight_decay=DECAY)
    assert np.abs(actual - regularised(DECAY)).max() < 1e-8
    assert np.abs(regularised(DECAY) - BEST).max() > 0.05


def test_weight_decay_of_adam_is_that_of_the_regularised_problem_and_adamws_is_not():
    """AdamW ends near the minimum of the mean objective itself."""

    def relative_distance(actual, to):
        return np.linalg.norm(actual - to, axis=1).max() / np.linalg.norm(to)

    adam, adamw = (
        trained("gradient_tracking", 1000, lr=0.01, rule=rule, weight_decay=0.3)
        for rule in ("adam", "adamw")
    )
    assert relative_distance(adam, regularised(0.3)) < 1e-6
    assert relative_distance(adamw, regularised(0.3)) > 0.3
    assert relative_distance(adamw, BEST) < 0.05


@pytest.mark.parametrize("method", UNBIASED)
def test_corrections_stay_without_bias_where_links_fail_and_workers_are_away(method):
    """Also after a drop of the learning rate."""
    away = {"link_failure": 0.3, "absence": 0.2}
    actual = trained(method, 700, lr=0.03, rule="momentum", drop=690, **away)
    assert np.abs(actual - BEST).max() < 1e-6
