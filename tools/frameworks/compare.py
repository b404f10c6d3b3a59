"""Write docs/frameworks.md: other frameworks' own packages and this one, on the same problems.

``make frameworks`` makes the environments, and runs this. Each side of a case is a process of its
own (``side.py``) with one thread; the two take turns. A framework whose environment does not exist
is left out, with one line.
"""

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from cases import CASES, LR, STEPS, Case
from tabulate import tabulate

from ngo.training.record import processor

FOLDER = Path(__file__).parent
PAGE = FOLDER.parents[1] / "docs/frameworks.md"
ENVIRONMENTS = Path(".frameworks")
ROUNDING = 1e-4
"""States agree to float32's rounding if they differ by less, relative to the largest entry."""

TURNS = 3


@dataclass
class Side:
    """A running side of a case, and its answers."""

    process: subprocess.Popen
    states: Path
    seconds: list[float] = field(default_factory=list)
    mb: float = 0.0

    def turn(self) -> None:
        """A run that does not count, and one that does."""
        for counted in (False, True):
            self.process.stdin.write("\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit(f"{self.process.args[1]} failed; its traceback is above.")
            answer = json.loads(line)
            if counted:
                self.seconds.append(answer["seconds"])
                self.mb = answer["mb"]


def python_of(framework: str) -> str:
    """The interpreter that has a framework."""
    return sys.executable if framework == "ngo" else str(ENVIRONMENTS / framework / "bin/python")


def measured(case: Case) -> dict:
    """A row of the table: agreement, time of a step, memory."""
    threads = ("OMP", "OPENBLAS", "MKL")
    environment = {**os.environ, **{f"{each}_NUM_THREADS": "1" for each in threads}}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "problem.npz")
        case.problem().write(str(file))
        sides = []
        for name, options in (("ngo", case.ours), (case.framework, case.theirs)):
            states = Path(folder, f"{name}.npy")
            command = [python_of(name), "-W", "ignore", str(FOLDER / f"in_{name}.py")]
            command += [str(file), str(states), json.dumps(options)]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            sides.append(Side(subprocess.Popen(command, env=environment, **pipes), states))
        try:
            for _ in range(TURNS):
                for side in sides:
                    side.turn()
            X, Y = (np.load(side.states) for side in sides)
        finally:
            for side in sides:
                side.process.stdin.close()
                side.process.wait(60)
    return row(case, X, Y, *sides)


def difference(X: np.ndarray, Y: np.ndarray, shift: int = 0) -> tuple[float, float]:
    """The largest difference of two trajectories, and that of their ends.

    Both are relative to the largest entry of X ``[steps + 1, n, d]``. Y is ``shift`` steps late.
    """
    apart = np.abs(X[: len(X) - shift] - Y[shift:]).max(axis=(1, 2)) / np.abs(X).max()
    return float(apart.max()), float(apart[-1])


def row(case: Case, X: np.ndarray, Y: np.ndarray, ours: Side, theirs: Side) -> dict:
    """The row of a case from both trajectories and the sides' answers."""
    most, last = difference(X, Y, case.shift)
    if (most <= ROUNDING) != case.same:
        print(f"{case.theirs}: difference {most:.2g}, expected: {case.same}", file=sys.stderr)
    ratios = (b / a for a, b in zip(ours.seconds, theirs.seconds, strict=True))
    name = case.theirs["algorithm"]
    settings = _told(case.theirs)
    own = _told(case.ours)
    return {
        "package": case.framework.replace("_", "-"),
        "its method": f"{name} ({settings})" if settings else name,
        "method here": f"{case.ours['method']} ({own})" if own else case.ours["method"],
        "problem": f"{case.loss.replace('_', ' ')}, n = {case.n}, d = {case.d}",
        "largest difference": f"{most:.1e}",
        "at the end": f"{last:.1e}",
        "agree": "yes" if most <= ROUNDING else "**no**",
        "time there, of here": statistics.median(ratios),
        "MB here": f"{ours.mb:.0f}",
        "MB there": f"{theirs.mb:.0f}",
        "why, or how": case.why,
    }


def _told(options: dict) -> str:
    """The options of a method, without its name and without p = 1."""
    kept = {k: v for k, v in options.items() if k not in ("algorithm", "method", "p")}
    return ", ".join(f"{k} {v if isinstance(v, str) else f'{v:.3g}'}" for k, v in kept.items())


TEXT = """\
# Other frameworks on the same problem

By `make frameworks`, which makes an environment for each package from its lock in
`tools/frameworks`.
No environment here depends on them. Versions: {versions}. Machine: {machine}.

Worker i minimizes the mean loss of 20 samples of its own, with full gradients, by {steps} steps at
η = {lr}. Both sides have the same samples, W, initial states and float32 arrays. States agree if no
entry differs by more than {rounding:g} of the largest one in any step: rounding, not definition.

Each side is a process with one thread; the two take turns, each after a run that does not count.
A ratio is the median of the ratios in {turns} turns. A run is the set-up of workers and {steps}
steps, without evaluations and without records. In it, decent-bench's agents are objects in NumPy,
and here all workers are one matrix, with the checks of a run. So
the times are of frameworks and not of methods. Memory is the process's largest, with its libraries.

{agreements}

{costs}

Not compared: what only one side has, and methods with draws of their own (GT-SAGA's samples,
ProxSkip's coins), whose trajectories are equal in distribution only.
"""


def page(rows: list[dict], versions: dict[str, str]) -> str:
    """The page of the rows."""
    common = ["package", "its method", "method here", "problem"]
    agreements = [*common, "largest difference", "at the end", "agree", "why, or how"]
    costs = [*common, "time there, of here", "MB here", "MB there"]
    tables = []
    for columns in (agreements, costs):
        texts = [k for k, column in enumerate(columns) if isinstance(rows[0][column], str)]
        cells = [[row[column] for column in columns] for row in rows]
        tables.append(tabulate(cells, columns, "github", floatfmt=".3g", disable_numparse=texts))
    return TEXT.format(
        versions=", ".join(f"{name} {version}" for name, version in versions.items()),
        machine=f"{processor()}, Python {platform.python_version()} here",
        steps=STEPS,
        lr=LR,
        rounding=ROUNDING,
        turns=TURNS,
        agreements=tables[0],
        costs=tables[1],
    )


def pinned() -> dict[str, str]:
    """The versions of the frameworks in their locks, by package."""
    lines = (line for file in FOLDER.glob("*.in") for line in file.read_text().splitlines())
    pairs = (line.split("==") for line in lines if line.startswith("decent-bench"))
    return dict(sorted(pairs))


def main() -> None:
    """Measure all cases whose framework is here, and write the page if all are."""
    frameworks = sorted({case.framework for case in CASES})
    missing = [name for name in frameworks if not (ENVIRONMENTS / name / "installed").exists()]
    for name in missing:
        print(
            f"frameworks: {ENVIRONMENTS / name} is not installed: make frameworks, with a network."
        )
    rows = []
    for case in CASES:
        if case.framework not in missing:
            rows.append(measured(case))
            print(json.dumps(rows[-1], ensure_ascii=False), flush=True)
    if not missing:
        PAGE.write_text(page(rows, pinned()), encoding="utf-8")


if __name__ == "__main__":
    main()
