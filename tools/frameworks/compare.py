"""Write docs/frameworks.md: other frameworks' own packages and this one, on the same problems.

``make frameworks`` makes the environments, and runs this. Each side of a case is a process of its
own (``side.py``) with one thread; the two take turns. A framework whose environment does not exist
is left out, with one line that says why.
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
from cases import CASES, LEFT_OUT, LR, STEPS, Case
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
    most, last = difference(X[:: case.every], Y, case.shift)
    if (most <= ROUNDING) != case.same:
        print(f"{case.theirs}: difference {most:.2g}, expected: {case.same}", file=sys.stderr)
    ratios = (b / a for a, b in zip(ours.seconds, theirs.seconds, strict=True))
    name = case.theirs["algorithm"]
    settings = _told(case.theirs)
    own = _told(case.ours)
    return {
        "package": pinned(case.framework)[0],
        "its method": f"{name} ({settings})" if settings else name,
        "method here": f"{case.ours['method']} ({own})" if own else case.ours["method"],
        "problem": f"{case.loss}, {case.topology}, n = {case.n}, d = {case.d}".replace("_", " "),
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
    return ", ".join(
        f"{k} {v if isinstance(v, str | bool) else f'{v:.3g}'}" for k, v in kept.items()
    )


TEXT = """\
# Other frameworks on the same problem

By `make frameworks`, which makes an environment for each package from its lock in
`tools/frameworks`.
No environment here depends on them. Versions: {versions}. Machine: {machine}.
{missing}
Worker i minimizes the mean loss of 20 samples of its own, with full gradients, by {steps} steps at
η = {lr}. Both sides have the same samples, W, initial states and float32 arrays. States agree if no
entry differs by more than {rounding:g} of the largest one in any step: rounding, not definition.

Each side is a process with one thread; the two take turns, each after a run that does not count.
A ratio is the median of the ratios in {turns} turns. A run is the set-up of workers and {steps}
steps, without evaluations and without records. In it, decent-bench's agents are objects in NumPy,
gossipy's nodes have a PyTorch module and optimizer each, copied for each message, and here all
workers are one matrix, with the checks of a run. So
the times are of frameworks and not of methods. Memory is the process's largest, with its libraries.

gossipy's nodes train before the first message, and then merge and train in each timestep. Compared
are the states between, where gradients are taken; its runs end with one training more.

{agreements}

{costs}

Not compared is what only one side has, and:

{left_out}
"""


def page(rows: list[dict], missing: dict[str, str]) -> str:
    """The page of the rows; ``missing`` says of frameworks without rows why they have none."""
    common = ["package", "its method", "method here", "problem"]
    agreements = [*common, "largest difference", "at the end", "agree", "why, or how"]
    costs = [*common, "time there, of here", "MB here", "MB there"]
    tables = []
    for columns in (agreements, costs):
        texts = [k for k, column in enumerate(columns) if isinstance(rows[0][column], str)]
        cells = [[row[column] for column in columns] for row in rows]
        tables.append(tabulate(cells, columns, "github", floatfmt=".3g", disable_numparse=texts))
    there = sorted({case.framework for case in CASES} - set(missing))
    return TEXT.format(
        versions=", ".join(" ".join(pinned(name)) for name in there),
        missing="".join(f"{line}\n" for line in missing.values()),
        left_out="\n".join(f"- {what}: {why}." for what, why in LEFT_OUT.items()),
        machine=f"{processor()}, Python {platform.python_version()} here",
        steps=STEPS,
        lr=LR,
        rounding=ROUNDING,
        turns=TURNS,
        agreements=tables[0],
        costs=tables[1],
    )


def pinned(framework: str) -> tuple[str, str]:
    """The package of a framework, and its version."""
    lines = (FOLDER / f"{framework}.in").read_text().splitlines()
    name, version = next(line for line in lines if "==" in line).split("==")
    return name, version


def absent(framework: str) -> str | None:
    """A line that says why a framework's environment is not there; None if it is."""
    folder = ENVIRONMENTS / framework
    if (folder / "installed").exists():
        return None
    lines = (FOLDER / f"{framework}.in").read_text().splitlines()
    python = next(line for line in lines if line.startswith("# Python ")).removeprefix("# ")
    made = (folder / "bin/python").exists()
    why = "its packages could not be installed" if made else f"there was no {python} to run it"
    return f"{' '.join(pinned(framework))} is left out: {why}."


def main() -> None:
    """Measure all cases whose framework is here, and write their page."""
    lines = {name: absent(name) for name in sorted({case.framework for case in CASES})}
    missing = {name: line for name, line in lines.items() if line}
    for line in missing.values():
        print(f"frameworks: {line}")
    rows = []
    for case in CASES:
        if case.framework not in missing:
            rows.append(measured(case))
            print(json.dumps(rows[-1], ensure_ascii=False), flush=True)
    if rows:
        PAGE.write_text(page(rows, missing), encoding="utf-8")


if __name__ == "__main__":
    main()
