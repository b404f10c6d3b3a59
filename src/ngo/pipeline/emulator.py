"""What one more run of a candidate would give that was not run: learnt from the runs of others.

An emulator is of one cell and one reading: a Gaussian process (Rasmussen and Williams 2006) with
Matérn's kernel 5/2 and a length for each input. Runs of one candidate and seed share a part of
their noise. Errors are wider where candidates nearby were predicted badly. All is judged by
candidates that are left out. (Means of nearest neighbours give these a lower probability in each
cell of Table 1 of the NGO paper, by a factor of 1.2 to 1.7 for a run.)
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

#: Numbers whose largest is so many times the smallest count by their logarithm.
WIDE = 3.0

#: Runs nearby whose errors count, and as how many all others count together.
NEAR, PRIOR = 20, 10

#: Degrees of freedom among which is chosen, and parts of the noise that runs of a seed share.
FREEDOMS, PARTS = (3, 4, 5, 7, 10, 15, 25, 50), (0.0, 0.3, 0.6, 0.8, 0.95)


class Emulator:
    """What one more run gives, learnt from ``rows``: ``names`` are the columns of inputs.

    Other columns are ``z``, the number on its scale; ``noise``, a known variance; ``group``, the
    candidates that are left out together; ``seed``; and ``final``, whether it is a run's end.
    """

    def __init__(self, rows: pd.DataFrame, names: Sequence[str]) -> None:
        self.rows, self.names, self.factor = rows.reset_index(drop=True), [*names], 1.0
        self.encoded = _encoder(rows[self.names])
        self.x, z = self.encoded(rows), rows["z"].to_numpy()
        self.ends = np.flatnonzero(rows["final"])
        self.centre, self.size = z[self.ends].mean(), z[self.ends].std() or 1.0
        self.y, self.noise = (z - self.centre) / self.size, rows["noise"].to_numpy() / self.size**2
        kernel = _fitted(self.x[self.ends], self.y[self.ends], self.noise[self.ends])
        self.signal, self.white = kernel.k1, kernel.k2.noise_level
        of, self.group = rows.groupby(["group", "seed"]).ngroup(), rows["group"].to_numpy()
        self.same, self.kept = of.to_numpy()[:, None] == of.to_numpy(), np.arange(len(z))
        self._solve(max(PARTS, key=self._solve))
        mean, sd = self._left_out()
        apart = self._apart(self.x[self.ends])
        apart[self.group[self.ends][:, None] == self.group[self.ends]] = np.inf
        #: Of each run's end, left out with its group: what it gave − prediction, in its errors …
        self.raw = (self.y[self.ends] - mean) / sd
        #: … which are wider where those nearby are.
        self.residual = self.raw / self._local(apart)

    def without(self, group: int) -> Emulator:
        """The same without the runs of a group of candidates; what was fitted is kept."""
        fewer, lost = copy.copy(self), np.flatnonzero(self.group == group)
        fewer.kept = kept = np.flatnonzero(self.group != group)
        rest, both = self.inverse[np.ix_(kept, kept)], self.inverse[np.ix_(lost, kept)]
        fewer.inverse = rest - both.T @ np.linalg.solve(self.inverse[np.ix_(lost, lost)], both)
        fewer.solved = fewer.inverse @ self.y[kept]
        return fewer

    def predict(self, rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The mean, its error and the spread between runs, each [rows], for rows of inputs."""
        x = self.encoded(rows)
        apart = self._apart(x)
        apart[:, ~np.isin(self.ends, self.kept)] = np.inf
        cross = self.signal(x, self.x[self.kept])
        explained = (cross @ self.inverse * cross).sum(axis=1)
        error = np.sqrt(np.maximum(self.signal.k1.constant_value - explained, 1e-9))
        wider = self.factor * self.size * self._local(apart)
        mean = self.centre + self.size * (cross @ self.solved)
        return mean, error * wider, np.sqrt(self.white) * wider

    def _solve(self, part: float) -> float:
        """Solve for all rows; returns the logarithm of their likelihood."""
        noise = np.diag(self.noise + (1 - part) * self.white + 1e-9)
        matrix = self.signal(self.x) + part * self.white * self.same + noise
        self.inverse = np.linalg.inv(matrix)
        self.solved = self.inverse @ self.y
        return float(-self.y @ self.solved / 2 - np.linalg.slogdet(matrix)[1] / 2)

    def _left_out(self) -> tuple[np.ndarray, np.ndarray]:
        """The mean and the sd of one more run, of each run's end, by the others' groups."""
        mean, sd = np.empty_like(self.y), np.empty_like(self.y)
        for rows in self.rows.groupby("group").indices.values():
            covariance = np.linalg.inv(self.inverse[np.ix_(rows, rows)])
            mean[rows] = self.y[rows] - covariance @ self.solved[rows]
            sd[rows] = np.sqrt(np.diag(covariance))
        return mean[self.ends], sd[self.ends]

    def _apart(self, x: np.ndarray) -> np.ndarray:
        """How far inputs are from those of runs' ends, in the kernel's lengths."""
        from scipy.spatial.distance import cdist

        lengths = self.signal.k2.length_scale
        return cdist(x / lengths, self.x[self.ends] / lengths)

    def _local(self, apart: np.ndarray) -> np.ndarray:
        """How much wider errors are here than elsewhere, by those of runs nearby, [rows]."""
        near = np.argpartition(apart, min(NEAR, len(self.raw)) - 1, axis=1)[:, :NEAR]
        own = np.isfinite(np.take_along_axis(apart, near, axis=1))
        whole = (self.raw**2).mean()
        sums = np.where(own, self.raw[near] ** 2, 0.0).sum(axis=1) + PRIOR * whole
        return np.sqrt(sums / (own.sum(axis=1) + PRIOR))


def _encoder(rows: pd.DataFrame) -> Callable[[pd.DataFrame], np.ndarray]:
    """Values as numbers, [rows, numbers]: standardized, by logarithm where they are wide, or ±1."""
    columns: list[tuple[str, Any]] = []
    for name, values in rows.items():
        if pd.api.types.is_numeric_dtype(values):
            log = values.min() > 0 and values.max() >= WIDE * values.min()
            numbers = np.log(values) if log else values
            how = np.log if log else np.array, numbers.mean(), numbers.std()
            columns.append((str(name), how))
        else:
            columns += [(str(name), choice) for choice in sorted(values.unique())[1:]]

    def number(values: pd.Series, how: Any) -> Any:
        if isinstance(how, str):
            return np.where(values == how, 1.0, -1.0)
        to, mean, size = how
        return (to(values) - mean) / size

    def encoded(given: pd.DataFrame) -> np.ndarray:
        return np.column_stack([number(given[n], how) for n, how in columns]).astype(float)

    return encoded


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


def calibrated(emulators: Sequence[Emulator]) -> float:
    """Give all emulators the scale of Student's t that their left-out runs have.

    Returns its degrees of freedom, which all have in common.
    """
    from scipy.stats import t

    fits = {nu: [t.fit(of.residual, fdf=nu, floc=0)[2] for of in emulators] for nu in FREEDOMS}

    def density(freedom: int) -> float:
        each = zip(emulators, fits[freedom], strict=True)
        return sum(t.logpdf(of.residual, freedom, scale=scale).sum() for of, scale in each)

    freedom = max(FREEDOMS, key=density)
    for of, scale in zip(emulators, fits[freedom], strict=True):
        of.factor, of.residual = scale, of.residual / scale
    return float(freedom)
