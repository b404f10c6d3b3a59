"""The options that commands on an archive share, and the plan of an archive."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from ngo.cli.field_options import data_root_option

if TYPE_CHECKING:
    from ngo.pipeline.archives.archive import Archive
    from ngo.pipeline.plan import Plan

trust_option = click.option(
    "--trust-plugins", "trusted", is_flag=True, help="Run the plugins that the archive contains."
)


def plan_options(command: Callable) -> Callable:
    """The options of a command that plans the config of an archive."""
    return trust_option(data_root_option(command))


def plan_of(archive: Archive, *, trusted: bool) -> Plan:
    """The plan of an archive; its folder is the working directory until the command ends."""
    from ngo.pipeline.archives.archive_plan import archived_plan

    own = archived_plan(archive, trusted=trusted, tell=click.echo)
    return click.get_current_context().with_resource(own)
