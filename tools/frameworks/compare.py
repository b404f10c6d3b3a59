"""Print the tables of docs/performance.md: other frameworks' own packages and this one.

``make frameworks`` makes the environments, and runs this. Each side of a case is a process of its
own (``side.py``) with one thread. A framework whose environment does not exist is left out.
"""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml
from side import Problem
from tabulate import tabulate

from ngo.gossip.topology import TOPOLOGIES

LR, STEPS = 0.05, 100
FOLDER = Path(__file__).parent
ENVIRONMENTS = Path(".frameworks")
#: States agree to float32's rounding if they differ by less, relative to the largest entry.
ROUNDING = 1e-4


@dataclass(frozen=True)
class Case:
    """One method, as this package and as another one has it (see cases.yaml)."""

    framework: str
    theirs: dict
    ours: dict
    why: str = ""
    topology: str = "ring"
    loss: str = "least_squares"
    equal_start: bool = False
    shift: int = 0
    every: int = 1
    n: int = 9
    d: int = 10
    same: bool = True

    def problem(self) -> Problem:
        """20 samples of each worker, which has a solution x* + z_i; γ = 1 and η are stable."""
        random, n, d = np.random.default_rng(0), self.n, self.d
        A = random.normal(size=(n, 20, d)) / np.sqrt(d / 10)
        best = random.normal(size=d) + random.normal(size=(n, d)) / 2
        b = np.einsum("imd,id->im", A, best) + random.normal(size=(n, 20)) / 2
        if self.loss == "logistic":
            b = b > 0
        X0 = random.normal(size=(1 if self.equal_start else n, d)) + np.zeros((n, d))
        W = weights(self.topology, n)
        arrays = [np.asarray(array, dtype=np.float32) for array in (A, b, W, X0)]
        return Problem(self.loss, *arrays, self.topology, LR, STEPS)


def weights(topology: str, n: int) -> np.ndarray:
    """The mixing matrix of a run ``[n, n]``, or those of one period of its graphs, stacked."""
    graph = TOPOLOGIES[topology]
    matrices = [graph.matrix(n, t=t).dense().numpy() for t in range(graph.period(n))]
    return np.stack(matrices) if graph.varies else matrices[0]


CASES = [Case(**entry) for entry in yaml.safe_load((FOLDER / "cases.yaml").read_text())]


def measured(case: Case) -> dict:
    """A row of the table: agreement, time of a run, memory."""
    os.environ |= {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
    states, answers = [], []
    with tempfile.TemporaryDirectory() as folder:
        file, found = Path(folder, "problem.npz"), Path(folder, "states.npy")
        case.problem().write(str(file))
        other = str(ENVIRONMENTS / case.framework / "bin/python")
        sides = (sys.executable, "ngo", case.ours), (other, case.framework, case.theirs)
        for python, name, options in sides:
            command = [python, "-W", "ignore", FOLDER / f"in_{name}.py", file, found]
            command.append(json.dumps(options))
            made = subprocess.run(command, stdout=subprocess.PIPE, check=True)
            answers.append(json.loads(made.stdout))
            states.append(np.load(found))
    return row(case, *states, *answers)


def difference(X: np.ndarray, Y: np.ndarray, shift: int = 0) -> tuple[float, float]:
    """The largest difference of two trajectories, and that of their ends.

    Both are relative to the largest entry of X ``[steps + 1, n, d]``. Y is ``shift`` steps late.
    """
    apart = np.abs(X[: len(X) - shift] - Y[shift:]).max(axis=(1, 2)) / np.abs(X).max()
    return float(apart.max()), float(apart[-1])


def row(case: Case, X: np.ndarray, Y: np.ndarray, ours: dict, theirs: dict) -> dict:
    """The row of a case from both trajectories and the sides' answers."""
    most, last = difference(X[:: case.every], Y, case.shift)
    if (most <= ROUNDING) != case.same:
        print(f"{case.theirs}: difference {most:.2g}, expected: {case.same}", file=sys.stderr)
    return {
        "package": case.framework,
        "its method": _told("algorithm", case.theirs),
        "method here": _told("method", case.ours),
        "problem": f"{case.loss}, {case.topology}, n = {case.n}, d = {case.d}".replace("_", " "),
        "largest difference": f"{most:.1e}",
        "at the end": f"{last:.1e}",
        "agree": "yes" if most <= ROUNDING else "**no**",
        "why, or how": case.why,
        "time there, of here": f"{theirs['seconds'] / ours['seconds']:.3g}",
        "MB here": f"{ours['mb']:.0f}",
        "MB there": f"{theirs['mb']:.0f}",
    }


def _told(name: str, options: dict) -> str:
    """A method and its options, without p = 1."""
    told = (
        f"{k} {v if isinstance(v, str | bool) else f'{v:.3g}'}"
        for k, v in options.items()
        if k not in (name, "p")
    )
    text = ", ".join(told)
    return f"{options[name]} ({text})" if text else options[name]


def tables(rows: list[dict]) -> str:
    """The tables of agreement and of costs."""
    names = list(rows[0])
    columns = names[:8], names[:4] + names[8:]
    cells = ([[row[name] for name in chosen] for row in rows] for chosen in columns)
    kinds = {"tablefmt": "github", "disable_numparse": True}
    parts = (tabulate(lines, names, **kinds) for lines, names in zip(cells, columns, strict=True))
    return "\n\n".join(parts)


def main() -> None:
    """Measure all cases whose framework is here, and print the tables."""
    here = [case for case in CASES if (ENVIRONMENTS / case.framework / "installed").exists()]
    for framework in sorted({case.framework for case in CASES if case not in here}):
        print(f"frameworks: {framework} is left out: it is not installed.")
    if here:
        print(tables([measured(case) for case in here]))


if __name__ == "__main__":
    main()
