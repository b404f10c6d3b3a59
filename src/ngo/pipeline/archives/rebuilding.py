"""The tables and figures of an archive, made by this repository's workflow from its unpacked files.

Nothing of the archive is run: the Snakefile, the rules, the profile and the notebooks are the
repository's, and no process imports modules from the folder that the archive is unpacked in.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ngo.common.files import PARTIAL, writable_folder
from ngo.common.registry import UserError
from ngo.pipeline.archives.archive import Archive, Members, content_of, sha256, tar_of
from ngo.pipeline.archives.members import is_workflow, write_members
from ngo.pipeline.archives.packed_runs import RECORDS
from ngo.pipeline.archives.run_tables import joined_tables, needed_tables, run_tables
from ngo.pipeline.places import tidy_table
from ngo.pipeline.plan import Plan


def unpack(archive: Archive, planned: Plan, out: str | Path) -> Path:
    """Unpack an archive of ``planned`` into ``out``/TIER-SUM; returns that folder.

    It has what the archive's tables and figures are made from. The sources of the workflow stay in
    the archive: nothing in the folder is run but the config's plugins, if they are trusted. The
    folder appears only when it is complete. An existing folder must contain these files
    unchanged: a UserError if one of them has been changed.
    """
    if not archive.about["artefacts"]:
        raise UserError(
            f"archive: {str(archive.path)!r} has finished runs and no tables or figures; "
            "ngo restore puts the runs back."
        )
    files, digest = _files(archive, planned), sha256(tar_of(archive.members))
    folder = writable_folder(out) / f"{archive.about['tier']}-{digest[:8]}"
    if not folder.exists():
        temporary = Path(tempfile.mkdtemp(prefix=PARTIAL, dir=out))
        try:
            write_members(temporary, files)
            temporary.chmod(0o755)
            temporary.replace(folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    for name, content in files.items():
        found = content_of(folder / name)
        if found != content:
            raise UserError(
                f"archive: {str(folder / name)!r} has been changed since it was unpacked (expected "
                f"sha256 {sha256(content)}, found {sha256(found)}); remove the folder."
            )
    return folder


def _files(archive: Archive, planned: Plan) -> Members:
    """What the folder contains, by path."""
    joined = run_tables(planned)
    files = {
        name: content
        for name, content in archive.members.items()
        if not is_workflow(name) and name not in joined
    }
    for name, content in joined_tables(archive, planned, needed_tables(archive, planned)):
        files[tidy_table(planned.tier, name)] = content
    if RECORDS in files:  # one file for each, as pages of results read them
        for run in archive.runs.values():
            files[f"results/runs/{run.id}/run.json"] = run.record_text.encode()
    return files


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
