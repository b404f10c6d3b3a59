"""Section 3.3, first lemma: a step of SGD brings x̄ nearer to x*, up to terms of noise and V.

The main text and the supplement print different coefficients of V.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.common.seeding import torch_stream
from ngo.common.types import Table, Tensor
from ngo.theorems.theorem import Options, Rows, checked_form, part, rows_of
from verdicts.quantity_registry import quantity
from verdicts.statistics.cases import cases

if TYPE_CHECKING:
    from ngo.gossip.least_squares import LeastSquares


# Learning rates, times L. The theorems have 1/4 or less.
RATES = (0.01, 0.05, 0.25)
# States: log10 of the distance of x̄ from x*, and of the spread of the workers, range from −s to s.
DECADES = 1.5
# The error of the two sides of an inequality.
EQUAL = 1e-9


@part("descents", "form", "n", "eta_L", "left", "right", "broken")
def descents(s: Options) -> Rows:
    """E‖x̄^(t+1) − x*‖² after a step of SGD, and the lemma's bound, at the hardest random state.

    The expectation is exact: a step's noise has the variance (η²/n²) Σσ_i². There is a row for each
    number of workers (2 and ``sgd_workers``), rate η and form of the bound. The last coefficient is

    - ``printed``: η(2ηL² + Lη + μ)/n, in the main text;
    - ``supplement``: η(2ηL² + L + μ)/n.

    The workers' curvatures differ by a factor ``curvature``; of ``lemma_states`` random states, the
    one with the largest ratio of left and right is recorded.
    """
    for n in sorted({2, s.sgd_workers}):
        problem = curved_problem(s, n)
        X = _states(s, problem, n)
        for rate in RATES:
            left, right = sides(problem, X, rate / problem.L, s.batch_size)
            for form, bound in right.items():
                worst = int((left / bound).argmax())
                broken = float((left > bound * (1 + EQUAL)).double().mean())
                yield form, n, rate, float(left[worst]), float(bound[worst]), broken


def curved_problem(s: Options, n: int) -> LeastSquares:
    """One-dimensional least squares on n workers, with curvatures of a ratio ``curvature``."""
    import torch

    from ngo.gossip.least_squares import LeastSquares, gaussian_problem

    flat = gaussian_problem(n, s.samples, 1, s.noise, s.heterogeneity, s.seed)
    curvature = s.curvature ** torch.linspace(0, 1, n, dtype=torch.float64)
    scale = (curvature / flat.A.square().mean((1, 2))).sqrt()
    return LeastSquares(flat.A * scale[:, None, None], flat.b * scale[:, None])


def sides(
    problem: LeastSquares, X: Tensor, eta: float, batch: int
) -> tuple[Tensor, dict[str, Tensor]]:
    """Both sides of the lemma at states ``[n, r, d]``: left ``[r]``, and right ``[r]`` by form."""
    from ngo.gossip.consensus import synchronization_index

    n, mu, L = len(X), problem.mu, problem.L
    mean, variance = X.mean(0), problem.noise(X, batch).mean(0)
    moved = mean - eta * problem.full_gradient(X).mean(0) - problem.optimum
    noise = eta**2 * variance / n
    left = moved.square().sum(-1) + noise
    distance2 = (mean - problem.optimum).square().sum(-1)
    V = synchronization_index(X.transpose(0, 1))
    shared = (1 - mu * eta / 2) * distance2 + noise
    shared = shared - 2 * eta * (1 - 2 * L * eta) * problem.gap(mean)
    shared = shared + eta * (2 * eta * L**2 + mu) / n * V
    right = {"printed": shared + eta * L * eta / n * V, "supplement": shared + eta * L / n * V}
    return left, right


def _states(s: Options, problem: LeastSquares, n: int) -> Tensor:
    import torch

    generator = torch_stream(s.seed, "theory lemma", n)
    count = s.lemma_states

    def scale() -> Tensor:
        drawn = torch.rand(count, 1, generator=generator, dtype=torch.float64)
        return 10 ** (DECADES * (2 * drawn - 1))

    mean = scale() * torch.randn(count, 1, generator=generator, dtype=torch.float64)
    apart = torch.randn(n, count, 1, generator=generator, dtype=torch.float64)
    return problem.optimum + mean + scale() * (apart - apart.mean(0))


@quantity("theory_descent_lemma", example="{form: printed}", cases=True)
def descent_lemma(table: Table, form: str) -> Table:
    """The descent lemma of Section 3.3; ``form`` is printed (main text) or supplement."""
    rows = rows_of(table, "descents")
    rows = rows[rows["form"] == checked_form(form, ("printed", "supplement"))]
    met = rows["left"] <= rows["right"] * (1 + EQUAL)
    return cases(rows, ("n", "eta_L"), rows["left"], rows["right"], met)
