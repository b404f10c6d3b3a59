"""The options that commands on an archive share, and the plan of an archive."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from ngo.cli.field_options import data_root_option
from ngo.cli.parameters import SECONDS, FieldType
from ngo.common.fields import Field, within

if TYPE_CHECKING:
    from ngo.pipeline.archives.archive import Archive
    from ngo.pipeline.plan import Plan

SEED = FieldType(Field(int, "seed", within(0, 2**63 - 1)))

trust_option = click.option(
    "--trust-plugins", "trusted", is_flag=True, help="Run the plugins that the archive contains."
)


def longest_option(text: str) -> Callable:
    """The option --longest, a limit on the seconds of a run."""
    return click.option("--longest", type=SECONDS, metavar="SECONDS", help=text)


def plan_options(command: Callable) -> Callable:
    """The options of a command that plans the config of an archive."""
    return trust_option(data_root_option(command))


def plan_of(archive: Archive, *, trusted: bool) -> Plan:
    """The plan of an archive; its folder is the working directory until the command ends."""
    from ngo.pipeline.archives.archive_plan import archived_plan

    own = archived_plan(archive, trusted=trusted, tell=click.echo)
    return click.get_current_context().with_resource(own)
