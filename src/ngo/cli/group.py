"""A group of commands that are imported on first use, and whose errors are one line each."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import NamedTuple

import click

from ngo.cli import log, plugin_option
from ngo.cli.log import LOG
from ngo.common import plugins
from ngo.common.registry import UserError


class Mistake(click.ClickException):
    """A user's mistake: one line on standard error, and exit code 2."""

    exit_code = 2

    def show(self, file: object = None) -> None:
        """Print the line; line breaks inside it become spaces."""
        LOG.error("ngo: %s", " ".join(self.message.split()))


class Lazy(NamedTuple):
    """A command that is imported on first use."""

    place: str  # ``module:attribute``
    summary: str | None  # the first sentence of its help; None hides the command


class Commands(click.Group):
    """Commands in the order of the pipeline, and measurements.

    ``lazy`` is a table of commands. ``registered`` is the place (``module:attribute``) of a
    function that returns the commands of measurements by name, those of plugins included.
    """

    def __init__(
        self,
        *arguments: object,
        lazy: Mapping[str, Lazy] | None = None,
        registered: str | None = None,
        **named: object,
    ) -> None:
        super().__init__(*arguments, **named)
        self.lazy = dict(lazy or {})
        self.registered = registered

    def list_commands(self, context: click.Context | None = None) -> list[str]:
        """The names: those of ``lazy``, then the rest."""
        return list(dict.fromkeys((*self.lazy, *self.commands, *self._measurements())))

    def get_command(self, context: click.Context | None, name: str) -> click.Command | None:
        """The command with this name; None if it does not exist."""
        command = self.commands.get(name)
        if command is None and name in self.lazy:
            command = _imported(self.lazy[name].place)
        if command is None:
            command = self._measurements().get(name)
        return command and plugin_option.add_option(command)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a line for each command, without importing those of ``lazy``."""
        lazy = {name: each.summary for name, each in self.lazy.items()}
        for title, summaries in (
            ("Commands", lazy | _summaries(self.commands)),
            ("Measurements", _summaries(self._measurements())),
        ):
            if rows := [(name, text) for name, text in summaries.items() if text]:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def _measurements(self) -> Mapping[str, click.Command]:
        """The commands of ``registered``."""
        if self.registered is None:
            return {}
        module, _, attribute = self.registered.partition(":")
        return getattr(importlib.import_module(module), attribute)()

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, after loading the plugins that its arguments name."""
        plugin_option.load_named(arguments[1:])
        try:
            return super().resolve_command(context, arguments)
        except click.exceptions.NoSuchCommand as error:  # which suggests imported commands only
            names = self.list_commands(context)
            raise click.exceptions.NoSuchCommand(
                error.command_name, possibilities=names, ctx=context
            ) from None

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: object,
    ) -> click.Context:
        """Parse the group's own options, after the start of the outermost group."""
        if parent is None:
            log.configure()
            _in_one_line(plugins.load_installed)
        return _in_one_line(super().make_context, info_name, args, parent, **extra)

    def invoke(self, context: click.Context) -> object:
        """Run a command, after parsing its options."""
        return _in_one_line(super().invoke, context)


def _imported(place: str) -> click.Command:
    """The command at ``module:attribute``."""
    module, _, attribute = place.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _summaries(commands: Mapping[str, click.Command]) -> dict[str, str | None]:
    """The first sentence of each command's help, by name; None for a hidden command."""
    return {
        name: None if each.hidden else each.get_short_help_str(limit=80)
        for name, each in commands.items()
    }


# What torch and Python say when the system refuses more memory or threads.
_OUT_OF_MEMORY = ("can't allocate memory", "CUDA out of memory", "can't start new thread")


def _in_one_line(work: Callable, *arguments: object, **named: object) -> object:
    """What ``work`` returns; a user's mistake is raised as a ``Mistake``."""
    try:
        return work(*arguments, **named)
    except click.exceptions.NoArgsIsHelpError:
        raise
    except KeyboardInterrupt:
        LOG.error("ngo: interrupted")
        sys.exit(130)
    except UserError as error:
        raise Mistake(str(error)) from None
    except click.UsageError as error:
        text = error.format_message()
        end = "" if text.endswith((".", "?", ")")) else "."
        where = f" See {error.ctx.command_path} --help." if error.ctx else ""
        raise Mistake(f"{text}{end}{where}") from None
    except (MemoryError, RuntimeError) as error:
        known = any(text in str(error) for text in _OUT_OF_MEMORY)
        if not (known or isinstance(error, MemoryError)):
            raise
        raise Mistake(f"out of memory; use fewer workers or threads: {error}") from None
