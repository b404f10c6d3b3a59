"""What one more run of a candidate would give that was not run: learnt from the runs of others.

An emulator is of one cell and one reading. It is a Gaussian process (Rasmussen and Williams 2006)
of Matérn's kernel 5/2, with a length for each input, or the mean of the nearest neighbours,
whichever gives candidates that are left out the higher probability. Runs of one candidate and seed
share a part of their noise. Errors are wider where candidates nearby were predicted badly.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

#: Numbers whose largest is so many times the smallest count by their logarithm.
WIDE = 3.0

#: Runs nearby whose errors count, and as how many all others count together.
NEAR, PRIOR = 20, 10

#: Nearest neighbours, of which a mean is.
NEIGHBOURS = 8

#: Degrees of freedom among which is chosen, and parts of the noise that runs of a seed share.
FREEDOMS, PARTS = (3, 4, 5, 7, 10, 15, 25, 50), (0.0, 0.3, 0.6, 0.8, 0.95)


class Inputs:
    """Values as numbers, [rows, numbers]: standardized, by logarithm where they are wide, or ±1."""

    def __init__(self, rows: pd.DataFrame) -> None:
        self._columns: list[tuple[str, Any]] = []
        for name, values in rows.items():
            if not pd.api.types.is_numeric_dtype(values):
                self._columns += [(str(name), choice) for choice in sorted(values.unique())[1:]]
                continue
            log = values.min() > 0 and values.max() >= WIDE * values.min()
            numbers = np.log(values) if log else values
            self._columns.append((str(name), (log, numbers.mean(), numbers.std() or 1.0)))

    def __call__(self, rows: pd.DataFrame) -> np.ndarray:
        """The numbers of rows with these columns."""
        found = []
        for name, how in self._columns:
            if isinstance(how, tuple):
                log, mean, size = how
                found.append(((np.log(rows[name]) if log else rows[name]) - mean) / size)
            else:
                found.append(np.where(rows[name] == how, 1.0, -1.0))
        return np.column_stack(found).astype(float)


class Emulator:
    """What one more run gives, learnt from ``rows``: ``names`` are the columns of inputs.

    Other columns are ``z``, the number on its scale; ``noise``, a known variance; ``group``, the
    candidates that are left out together; ``seed``; and ``final``, whether it is a run's end.
    """

    def __init__(self, rows: pd.DataFrame, names: Sequence[str]) -> None:
        from scipy.stats import norm

        self.rows, self.names = rows.reset_index(drop=True), [*names]
        self.encoded = Inputs(rows[self.names])
        self.x, self.factor = self.encoded(rows), 1.0
        z, final = self.rows["z"].to_numpy(), self.rows["final"].to_numpy(bool)
        self.centre, self.size = z[final].mean(), z[final].std() or 1.0
        self.y, self.noise = (z - self.centre) / self.size, rows["noise"].to_numpy() / self.size**2
        self.final = np.flatnonzero(final)
        kernel = _fitted(self.x[final], self.y[final], self.noise[final])
        self.signal, self.white = kernel.k1, kernel.k2.noise_level
        of = self.rows.groupby(["group", "seed"]).ngroup().to_numpy()
        self.same, self.near = of[:, None] == of, None
        self.scaled = self.x / self.signal.k2.length_scale
        self.part = max(PARTS, key=lambda part: self._use(part, slice(None)))
        self._use(self.part, slice(None))
        group = self.rows["group"].to_numpy()[self.final]
        apart = _distances(self.scaled[self.final], self.scaled[self.final])
        apart[group[:, None] == group] = np.inf
        ends = self.y[self.final]
        ways = {"process": self._left_out(), "neighbours": _neighbours(apart, ends)}
        off = {kind: (ends - mean) / sd for kind, (mean, sd) in ways.items()}
        size = {kind: np.sqrt((of**2).mean()) for kind, of in off.items()}
        #: The mean logarithm of the density of left-out runs, by way of prediction.
        self.density = {k: norm.logpdf(ends, m, sd * size[k]).mean() for k, (m, sd) in ways.items()}
        self.kind = max(self.density, key=lambda kind: self.density[kind])
        self.overall, self.raw = size[self.kind], off[self.kind] / size[self.kind]
        #: Left-out runs − prediction, in its errors: what ``calibrated`` and correlations are of.
        self.residual = self.raw / self._local(apart)

    def without(self, group: int) -> Emulator:
        """The same without the runs of a group of candidates; what was fitted is kept."""
        fewer = copy.copy(self)
        fewer._use(self.part, np.flatnonzero(self.rows["group"] != group))
        return fewer

    def predict(self, rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The mean, its error and the spread between runs, each [rows], for rows of inputs."""
        from scipy.linalg import solve_triangular

        x = self.encoded(rows[self.names])
        ends = self.final[np.isin(self.final, self.kept)]
        apart = _distances(x / self.signal.k2.length_scale, self.scaled[ends])
        wider = self.factor * self.overall * self.size
        local = wider * self._local(apart, np.isin(self.final, ends))
        if self.kind == "neighbours":
            mean, sd = _neighbours(apart, self.y[ends])
            error, spread = sd / np.sqrt(NEIGHBOURS), sd
        else:
            cross = self.signal(x, self.x[self.kept])
            mean = cross @ self.solved
            explained = (solve_triangular(self.lower, cross.T, lower=True) ** 2).sum(axis=0)
            error = np.sqrt(np.maximum(self.signal.k1.constant_value - explained, 1e-9))
            spread = np.full(len(x), np.sqrt(self.white))
        return self.centre + self.size * mean, error * local, spread * local

    def _use(self, part: float, kept: Any) -> float:
        """Solve for the ``kept`` rows; returns the logarithm of their likelihood."""
        from scipy.linalg import cho_solve

        self.kept = np.arange(len(self.y))[kept]
        square = np.ix_(self.kept, self.kept)
        noise = self.noise[self.kept] + (1 - part) * self.white + 1e-9
        matrix = self.signal(self.x[self.kept]) + part * self.white * self.same[square]
        self.lower = np.linalg.cholesky(matrix + np.diag(noise))
        y = self.y[self.kept]
        self.solved = cho_solve((self.lower, True), y)
        return float(-y @ self.solved / 2 - np.log(np.diag(self.lower)).sum())

    def _left_out(self) -> tuple[np.ndarray, np.ndarray]:
        """The mean and the sd of one more run, of each run's end, by the others' groups."""
        from scipy.linalg import cho_solve

        inverse = cho_solve((self.lower, True), np.eye(len(self.y)))
        mean, sd = np.empty_like(self.y), np.empty_like(self.y)
        for rows in self.rows.groupby("group").indices.values():
            covariance = np.linalg.inv(inverse[np.ix_(rows, rows)])
            mean[rows] = self.y[rows] - covariance @ self.solved[rows]
            sd[rows] = np.sqrt(np.diag(covariance))
        return mean[self.final], sd[self.final]

    def _local(self, apart: np.ndarray, kept: Any = slice(None)) -> np.ndarray:
        """How much wider errors are here than elsewhere, by those of runs nearby, [rows]."""
        squares = self.raw[kept] ** 2
        near = np.argpartition(apart, min(NEAR, len(squares) - 1), axis=1)[:, :NEAR]
        return np.sqrt((squares[near].sum(axis=1) + PRIOR) / (near.shape[1] + PRIOR))


def _fitted(x: np.ndarray, y: np.ndarray, noise: np.ndarray) -> Any:
    """The kernel, signal + white noise, that makes ``y`` likeliest."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    signal = ConstantKernel(1.0, (0.05, 50)) * Matern(np.full(x.shape[1], 2.0), (0.2, 50), nu=2.5)
    kernel = signal + WhiteKernel(0.1, (1e-4, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a length at its bound: an input that tells nothing
        found = GaussianProcessRegressor(kernel, alpha=noise + 1e-9, random_state=0).fit(x, y)
    return found.kernel_


def _distances(x: np.ndarray, others: np.ndarray) -> np.ndarray:
    from scipy.spatial.distance import cdist

    return cdist(x, others)


def _neighbours(apart: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean and the sd of the nearest neighbours, weighted by 1/(0.2 + distance), [rows]."""
    near = np.argsort(apart, axis=1)[:, :NEIGHBOURS]
    weights = 1 / (0.2 + np.take_along_axis(apart, near, axis=1))
    weights /= weights.sum(axis=1, keepdims=True)
    mean = (weights * y[near]).sum(axis=1)
    return mean, np.sqrt((weights * (y[near] - mean[:, None]) ** 2).sum(axis=1) + 0.05)


def calibrated(emulators: Sequence[Emulator]) -> float:
    """Give all emulators the scale of Student's t that their left-out runs have.

    Returns its degrees of freedom, which all have in common.
    """
    from scipy.stats import t

    def sized(residual: np.ndarray, freedom: int) -> tuple[float, float]:
        """The likeliest scale, and its mean log density."""
        scale = np.sqrt((residual**2).mean())
        for _ in range(50):
            weights = (freedom + 1) / (freedom + (residual / scale) ** 2)
            scale = max(np.sqrt((weights * residual**2).mean()), 1e-6)
        return t.logpdf(residual, freedom, scale=scale).sum(), scale

    freedom = max(FREEDOMS, key=lambda nu: sum(sized(of.residual, nu)[0] for of in emulators))
    for of in emulators:
        of.factor = sized(of.residual, freedom)[1]
        of.residual = of.residual / of.factor
    return float(freedom)
