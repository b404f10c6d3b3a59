"""The plan of an archive, made from the files inside it, and from plugins only if they are trusted.

Planning imports the config's plugins, reads its claims and the files that its runs name. All of
them are taken from the archive: a stranger's config must not make this machine read, let alone
run, a local file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from pathlib import Path

from ngo.common.registry import UserError, in_a_line
from ngo.pipeline.archives.archive import Archive, refusing, sha256
from ngo.pipeline.archives.archive_description import plugin_code
from ngo.pipeline.archives.members import check_expected, is_result, is_workflow, write_members
from ngo.pipeline.config_files import GONE  # of whose use the reader of an archive is not told
from ngo.pipeline.plan import Plan, plan
from ngo.report.findings import read_findings
from verdicts.registration import read_registration, registration_path

FLAG = "--trust-plugins"

# Prints a line for the user.
Tell = Callable[[str], object]


@contextmanager
def archived_plan(archive: Archive, *, trusted: bool, tell: Tell) -> Iterator[Plan]:
    """The plan of an archive's config, in a temporary folder with what the config is made from.

    The folder is the working directory until the end, so that relative paths of plugins and graphs
    are those in the archive. ``tell`` gets a line for each plugin before it runs. Raises a
    UserError for plugins that are not ``trusted``, for a config that can't be planned, and for
    members that an archive of this config does not have.
    """
    _check_plugins(archive, trusted=trusted, tell=tell)
    read = {
        name: content
        for name, content in archive.members.items()
        if not (is_result(name) or is_workflow(name))
    }
    with tempfile.TemporaryDirectory(prefix="ngo-archive-") as folder:
        write_members(Path(folder), read)
        with chdir(folder):
            yield _planned(archive)


def _check_plugins(archive: Archive, *, trusted: bool, tell: Tell) -> None:
    """Tell the name and the SHA-256 of each plugin in an archive that is code.

    Raises a UserError if there is one, and plugins are not ``trusted``.
    """
    for name in plugin_code(archive.about["config"]):
        plugin = f"{name!r} (sha256 {sha256(archive.members[name])})"
        if not trusted:
            raise UserError(
                f"archive: {str(archive.path)!r} has the plugin {plugin}, which is code. Read it, "
                f"and add {FLAG} to run it."
            )
        tell(f"runs the plugin {plugin} of the archive")


def _planned(archive: Archive) -> Plan:
    """The checked plan, in the folder of its files."""
    about = archive.about
    with refusing(archive.path):
        try:
            planned = plan({k: v for k, v in about["config"].items() if k not in GONE})
            check_expected(archive.members, planned, about["configs"])
            planned.ledger  # noqa: B018 (its file is checked)
            read_registration(registration_path(planned.claims))
            if planned.findings is not None:
                read_findings(planned.findings)
        except UserError:
            raise
        except Exception as error:  # a config that breaks our own checks is refused all the same
            told = f"{type(error).__name__}: {in_a_line(error)[:200]}"
            raise UserError(f"its config can't be planned ({told})") from None
        if not {*about["artefacts"]} <= {*planned.artefacts, *planned.figures}:
            raise UserError("archive.json names a figure that its config and the paper do not have")
    return planned
