"""Training the runs of an archive again, each in a separate process, and comparing."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ngo.common.former import present
from ngo.common.registry import UserError
from ngo.pipeline.archives.agreement import bit_difference, difference_beyond_rounding, same_kind
from ngo.pipeline.archives.packed_runs import FinishedRun, read_run
from ngo.pipeline.archives.rebuilding import ENVIRONMENT
from ngo.training.spec import RunSpec, flag

# How a run was compared.
BITS = "bit for bit"
ROUNDINGS = "within two roundings"


class Retraining:
    """Trains runs again, each in a separate process, and compares."""

    def __init__(self, root: Path, plugins: Sequence[str] = (), threads: int | None = None) -> None:
        """Data sets are read below ``root``."""
        self._root, self._plugins, self._threads = root, plugins, threads

    def difference(self, archived: FinishedRun, spec: RunSpec) -> tuple[str, str | None]:
        """How ``archived`` was compared, and what differs, if anything does.

        Raises a UserError if the run can't be trained, for lack of its data set for example.
        """
        one = self.trained(spec, {})
        if same_kind(archived, one):
            return BITS, bit_difference(archived, one)
        two = self.trained(spec, other_rounding(one))
        return ROUNDINGS, difference_beyond_rounding(archived, one, two)

    def trained(self, spec: RunSpec, environment: Mapping[str, str]) -> FinishedRun:
        """The run ``spec``, trained on the CPU with more variables in its environment."""
        with tempfile.TemporaryDirectory(prefix="ngo-verify-") as folder:
            return self.trained_in(Path(folder), spec, environment)

    def trained_in(
        self,
        folder: Path,
        spec: RunSpec,
        environment: Mapping[str, str],
        known: Iterable[str] | None = None,
    ) -> FinishedRun:
        """The same, with its files in ``folder``, where an interrupted run is resumed.

        The options are those of the fields ``known``, under these names, as an earlier version
        has them; by default those of all fields.
        """
        command = [sys.executable, "-m", "ngo", "train", *_options(spec, known)]
        command += ["--device", "cpu", "--data-root", str(self._root), "--out", str(folder)]
        command += [word for path in self._plugins for word in ("--plugin", path)]
        if self._threads is not None:
            command += ["--threads", str(self._threads)]
        output_lines(command, f"train: {spec.id}", environment)
        return read_run(folder)


def output_lines(
    command: Sequence[str], what: str, environment: Mapping[str, str], text: str = ""
) -> list[str]:
    """What a process prints that gets ``text`` and more variables in its environment.

    It imports no modules from the working directory. If it fails, its last line is that of a
    UserError, after ``what``.
    """
    variables = os.environ | ENVIRONMENT | environment
    answer = subprocess.run(
        command, env=variables, input=text, capture_output=True, text=True, check=False
    )
    if answer.returncode:
        told = (answer.stderr or answer.stdout).strip().splitlines() or ["no message"]
        raise UserError(f"{what}: {told[-1].removeprefix('ngo: ')}")
    return answer.stdout.splitlines()


def other_rounding(run: FinishedRun) -> dict[str, str]:
    """Variables with which ``run`` is trained here with another rounding.

    With our kernels in place of torch's operations or the other way round, and with narrower
    vectors in torch's.
    """
    narrow = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2"}
    narrower = {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41"}
    widest = run.about["instructions"] == "AVX512"
    march = "none" if run.about["kernels"] else "native"
    return {"NGO_MARCH": march, **(narrow if widest else narrower)}


def _options(spec: RunSpec, known: Iterable[str] | None) -> list[str]:
    words = spec.flags()
    if known is None:
        return words
    own = {flag(present(name)): flag(name) for name in known}
    pairs = zip(words[::2], words[1::2], strict=True)
    return [word for name, value in pairs if name in own for word in (own[name], value)]
