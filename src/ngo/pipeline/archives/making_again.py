"""Making the runs and the measured cases of an archive again, each in a separate process.

A measurement is a table of cases (``ngo.measures.measurement.Case``), each of which can be measured
without the others.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ngo.common.registry import UserError
from ngo.measures.measurement import MEASUREMENTS, Case
from ngo.pipeline.archives.agreement import Made
from ngo.pipeline.archives.packed_runs import FinishedRun, read_run
from ngo.pipeline.archives.rebuilding import ENVIRONMENT
from ngo.pipeline.config_files import load_plugins
from ngo.pipeline.plan import Plan
from ngo.training.spec import RunSpec

if TYPE_CHECKING:
    import pandas as pd

# What the bits of numbers depend on, besides values, code and the processor.
KIND = ("torch", "device", "instructions", "kernels")


@dataclass(frozen=True)
class Measured:
    """A table of a measurement in an archive."""

    kind: str
    name: str
    table: pd.DataFrame
    cases: Sequence[Case]

    @property
    def id(self) -> str:
        """The name of the tidy table."""
        return f"{self.kind}_{self.name}"

    def said(self, number: int) -> str:
        """The name of a case, for print."""
        facts = ", ".join(f"{name} {value}" for name, value in self.cases[number].facts.items())
        return f"{self.id}: {facts}" if facts else self.id

    def of_case(self, rows: pd.DataFrame, number: int) -> pd.Series:
        """Whether each of ``rows`` is of a case."""
        import pandas as pd

        kept = pd.Series(True, index=rows.index)
        for name, value in self.cases[number].facts.items():
            kept &= rows[name] == value
        return kept

    def made(self, number: int, where: tuple | None) -> Made:
        """The archive's rows of a case, measured there."""
        return Made(self.table[self.of_case(self.table, number)].reset_index(drop=True), where)

    def fault(self) -> str | None:
        """The first row that belongs to no case; None if there is none."""
        names = list(self.cases[0].facts)
        if absent := [name for name in names if name not in self.table]:
            return f"it has no column {absent[0]!r}"
        known = sum(self.of_case(self.table, number) for number in range(len(self.cases)))
        return "it has rows of a case that the config lacks" if (known == 0).any() else None


def made_run(run: FinishedRun) -> Made:
    """What a finished run gave."""
    import pandas as pd

    return Made(pd.DataFrame(run.columns), where(run), run.facts, run.about["test_samples"])


def where(run: FinishedRun) -> tuple:
    """The kind of processor that made a run."""
    return (run.record.get("processor"), *map(run.about.get, KIND))


def train_again(
    spec: RunSpec, planned: Plan, root: Path, threads: int | None, environment: Mapping[str, str]
) -> Made:
    """The run ``spec``, trained on the CPU with more variables in its environment.

    Data sets are read below ``root``. Raises a UserError if it can't be trained.
    """
    with tempfile.TemporaryDirectory(prefix="ngo-verify-") as folder:
        words = ["ngo", "train", *spec.flags(), "--device", "cpu", "--data-root", str(root)]
        words += [word for path in planned.plugins for word in ("--plugin", path)]
        words += [] if threads is None else ["--threads", str(threads)]
        output_of([*words, "--out", folder], f"train: {spec.id}", environment)
        return made_run(read_run(Path(folder)))


def measure_again(
    measured: Measured, number: int, planned: Plan, environment: Mapping[str, str]
) -> Made:
    """A case, measured with more variables in the environment."""
    import pandas as pd

    entry = planned.measures[measured.kind][measured.name]
    asked = json.dumps([planned.plugins, measured.kind, measured.name, entry, number])
    with tempfile.TemporaryDirectory(prefix="ngo-verify-") as folder:
        out = Path(folder, "case.parquet")
        words = ["ngo.pipeline.archives.making_again", str(out)]
        said = output_of(words, f"verify: {measured.said(number)}", environment, asked)
        return Made(pd.read_parquet(out), tuple(json.loads(said.splitlines()[-1])))


def output_of(
    words: Sequence[str], what: str, environment: Mapping[str, str], text: str = ""
) -> str:
    """What a module prints that gets ``text`` and more variables in its environment.

    It imports no modules from the working directory. If it fails, its last line is that of a
    UserError, after ``what``.
    """
    answer = subprocess.run(
        [sys.executable, "-P", "-m", *words], env=os.environ | ENVIRONMENT | environment,
        input=text, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if answer.returncode:
        told = (answer.stderr or answer.stdout).strip().splitlines() or ["no message"]
        raise UserError(f"{what}: {told[-1].removeprefix('ngo: ')}")
    return answer.stdout


def _main(out: str) -> None:
    """Measure the case that standard input names, and print where."""
    plugins, kind, name, options, number = json.load(sys.stdin)
    load_plugins({"plugins": plugins})
    entry = MEASUREMENTS[kind]
    entry.parts(entry.read(f"{kind}.{name}", options))[number].measure().to_parquet(out)

    from ngo.training import record

    here = record.kind("cpu")
    print(json.dumps([record.processor(), *(here[name] for name in KIND)]))


if __name__ == "__main__":
    _main(sys.argv[1])
