"""The tables and figures of an archive, made by this repository's workflow.

Nothing of the archive is run: the Snakefile, the rules, the profile and the notebooks are the
repository's, and no process imports modules from the folder that the archive is unpacked in.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

PROFILE = Path("workflow/profiles/local")
SNAKEFILE = Path("Snakefile")

#: For Python's processes, their kernels and jobs: no imports from the working directory.
ENVIRONMENT = {"PYTHONSAFEPATH": "1"}


def command(folder: Path, about: Mapping, artefacts: Iterable[str]) -> Sequence[str]:
    """The command that makes the tables and figures of an archive that is unpacked in ``folder``.

    It is for the repository's folder. ``about`` is the checked description of the archive, and
    ``artefacts`` are those of its tables and figures that its tidy tables suffice for. Only the
    rules of tables and figures are allowed, so nothing is trained or measured.
    """
    targets = [*artefacts, "assumptions"]
    if about["whole"]:
        targets.append("report")
    overlays = [str((folder / name).resolve()) for name in about["configs"][1:]]
    return [
        *(sys.executable, "-P", "-m", "snakemake", *targets),
        *("--snakefile", str(SNAKEFILE.resolve())),
        *("--directory", str(folder)),
        *("--allowed-rules", *targets),
        *(["--configfile", *overlays] if overlays else []),
        *("--config", "device=cpu"),
        *("--workflow-profile", str(PROFILE.resolve())),
    ]
