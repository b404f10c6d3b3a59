"""Both sides of the descent lemma (Section 3.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import torch

from ngo.common.seeding import torch_stream
from ngo.gossip import least_squares
from ngo.gossip.consensus import synchronization_index

if TYPE_CHECKING:
    from ngo.measures.theory import TheoryOptions

# Learning rates, times L. The theorems have 1/4 or less.
RATES = (0.01, 0.05, 0.25)
# States: log10 of the distance of x̄ from x*, and of the spread of the workers, range from −s to s.
DECADES = 1.5


def descent_lemma(options: TheoryOptions) -> pd.DataFrame:
    """E‖x̄^(t+1) − x*‖² after a step of SGD, and the lemma's bound, at the hardest random state.

    The expectation is exact: a step's noise has the variance (η²/n²) Σσ_i². There is a row for each
    number of workers (2 and ``sgd_workers``), rate η and form of the bound. The last coefficient is

    - ``printed``: η(2ηL² + Lη + μ)/n, in the main text;
    - ``supplement``: η(2ηL² + L + μ)/n.

    The workers' curvatures differ by a factor ``curvature``; of ``lemma_states`` random states, the
    one with the largest ratio of left and right is recorded.
    """
    records = []
    for n in sorted({2, options.sgd_workers}):
        problem = curved_problem(options, n)
        X = _states(options, problem, n)
        for rate in RATES:
            left, right = sides(problem, X, rate / problem.L, options.batch_size)
            for form, bound in right.items():
                worst = int((left / bound).argmax())
                records.append(
                    {
                        "form": form,
                        "n": n,
                        "eta_L": rate,
                        "left": float(left[worst]),
                        "right": float(bound[worst]),
                        "broken": float((left > bound * (1 + 1e-9)).double().mean()),
                    }
                )
    return pd.DataFrame(records)


def curved_problem(options: TheoryOptions, n: int) -> least_squares.LeastSquares:
    """One-dimensional least squares on n workers, with curvatures of a ratio ``curvature``."""
    s = options
    flat = least_squares.gaussian_problem(n, s.samples, 1, s.noise, s.heterogeneity, s.seed)
    curvature = s.curvature ** torch.linspace(0, 1, n, dtype=torch.float64)
    scale = (curvature / flat.A.square().mean((1, 2))).sqrt()
    return least_squares.LeastSquares(flat.A * scale[:, None, None], flat.b * scale[:, None])


def sides(
    problem: least_squares.LeastSquares, X: torch.Tensor, eta: float, batch: int
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Both sides of the lemma at states ``[n, r, d]``: left ``[r]``, and right ``[r]`` by form."""
    n, mu, L = len(X), problem.mu, problem.L
    mean, variance = X.mean(0), problem.noise(X, batch).mean(0)
    moved = mean - eta * problem.full_gradient(X).mean(0) - problem.optimum
    noise = eta**2 * variance / n
    left = moved.square().sum(-1) + noise
    distance2 = (mean - problem.optimum).square().sum(-1)
    V = synchronization_index(X.transpose(0, 1))
    shared = (
        (1 - mu * eta / 2) * distance2
        + noise
        - 2 * eta * (1 - 2 * L * eta) * problem.gap(mean)
        + eta * (2 * eta * L**2 + mu) / n * V
    )
    right = {"printed": shared + eta * L * eta / n * V, "supplement": shared + eta * L / n * V}
    return left, right


def _states(options: TheoryOptions, problem: least_squares.LeastSquares, n: int) -> torch.Tensor:
    generator = torch_stream(options.seed, "theory lemma", n)
    count = options.lemma_states

    def scale() -> torch.Tensor:
        drawn = torch.rand(count, 1, generator=generator, dtype=torch.float64)
        return 10 ** (DECADES * (2 * drawn - 1))

    mean = scale() * torch.randn(count, 1, generator=generator, dtype=torch.float64)
    apart = torch.randn(n, count, 1, generator=generator, dtype=torch.float64)
    return problem.optimum + mean + scale() * (apart - apart.mean(0))
