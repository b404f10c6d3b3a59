"""Options and arguments of commands, checked in the words of configs, before anything is done."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import click

from ngo.fields import Field, checked, wanted
from ngo.files import check_place, named_path, readable_file
from ngo.measurements import MEASURES, Value
from ngo.registry import UserError
from ngo.spec import DEFAULTS, FIELDS, flag


class Mistake(click.ClickException):
    """A user's mistake: a line on stderr, and exit code 2."""

    exit_code = 2

    def show(self, file: object = None) -> None:
        """Print it; what a name in it may have of line breaks, as spaces."""
        click.echo(f"ngo: {' '.join(self.message.split())}", err=True)


class Commands(click.Group):
    """Commands in the order of the pipeline; every mistake is a line."""

    def list_commands(self, context: click.Context) -> list[str]:
        """In the order of definition."""
        return list(self.commands)

    def make_context(self, *arguments: object, **named: object) -> click.Context:
        """Tell a mistake in the options of the group itself."""
        return _told(super().make_context, *arguments, **named)

    def invoke(self, context: click.Context) -> object:
        """Tell a mistake in a command and its options."""
        return _told(super().invoke, context)


def _told(work: Callable, *arguments: object, **named: object) -> object:
    """What ``work`` returns; a mistake that it raises, as :class:`Mistake`."""
    try:
        return work(*arguments, **named)
    except click.exceptions.NoArgsIsHelpError:
        raise
    except KeyboardInterrupt:
        click.echo("ngo: interrupted", err=True)
        sys.exit(130)
    except UserError as error:
        raise Mistake(str(error)) from None
    except click.UsageError as error:
        text = error.format_message()
        end = "" if text.endswith((".", "?", ")")) else "."
        where = f" See {error.ctx.command_path} --help." if error.ctx else ""
        raise Mistake(f"{text}{end}{where}") from None
    except (MemoryError, RuntimeError) as error:
        if not (isinstance(error, MemoryError) or any(text in str(error) for text in _NO_ROOM)):
            raise
        raise Mistake(f"no room; fewer workers or threads need less: {error}") from None


# What torch and Python say where the system gives no more memory, or threads.
_NO_ROOM = ("can't allocate memory", "CUDA out of memory", "can't start new thread")


class FieldType(click.ParamType):
    """A value that :func:`ngo.fields.checked` allows for ``field``."""

    def __init__(self, field: Field) -> None:
        self.field = field
        self.name = {int: "INT", float: "FLOAT", str: "NAME"}[field.kind]

    def convert(
        self, value: object, param: click.Parameter | None, context: click.Context | None
    ) -> object:
        """The value as the field's type; a UserError, under the option's name, if it is none."""
        key = _key(param).replace("-", "_")
        if self.field.names is None and isinstance(value, str):
            number = _number(value, self.field.kind)
            if number is None:
                must = f"it must be {wanted(self.field)}"
                raise UserError(f"{key}: {value!r} is not a number; {must}.")
            value = number
        return checked(key, value, self.field)


def _number(text: str, kind: type) -> float | None:
    """The number of ``kind`` that ``text`` is, else any number; None if it is none."""
    for read in (kind, float):
        try:
            return read(text)
        except ValueError:
            pass
    return None


class PathType(click.ParamType):
    """A path that ``check(path, key)`` allows."""

    name = "path"

    def __init__(self, check: Callable[[str, str], Path]) -> None:
        self.check = check

    def convert(
        self, value: object, param: click.Parameter | None, context: click.Context | None
    ) -> Path:
        """The path; a UserError, under the option's name, if it is not allowed."""
        return value if isinstance(value, Path) else self.check(value, _key(param))


# What a command writes, a file or a folder; what it reads; and a folder that may not be there yet.
RESULT = PathType(check_place)
FOLDER = PathType(partial(check_place, folder=True))
INPUT = PathType(readable_file)
ROOT = PathType(named_path)


def _key(param: click.Parameter) -> str:
    """What a message calls an option or argument."""
    return (param.name if isinstance(param, click.Argument) else param.opts[0]).lstrip("-")


def run_fields(*names: str) -> Callable:
    """Options for fields of a run; the command gets those that were given as ``given``."""
    defaults = {**DEFAULTS, "model": "the first that fits the data set", "task": "the model's"}
    return _options({name: (FIELDS[name], f"[default: {defaults[name]}]", {}) for name in names})


def measurement(kind: str) -> Callable:
    """Options for all values of a measurement, see :data:`ngo.measurements.MEASURES`."""
    return _options({name: _facts(value) for name, value in MEASURES[kind].items()})


def _facts(value: Value) -> tuple[Field, str, dict[str, object]]:
    defaults = value.default if value.many else (value.default,)
    repeated = "; may be repeated" if value.many else ""
    text = f"[default: {', '.join(map(str, defaults))}{repeated}]"
    return value.field, text, {"default": value.default, "multiple": value.many}


def _options(facts: Mapping[str, tuple[Field, str, dict[str, object]]]) -> Callable:
    """A decorator that gives a command these options, in this order."""

    def decorate(command: Callable) -> Callable:
        for name, (field, default, how) in reversed(facts.items()):
            allowed = ", ".join(sorted(field.names)) if field.names is not None else field.range
            help = field.help[0].upper() if field.help[0].isascii() else field.help[0]
            text = f"{help}{field.help[1:]} ({allowed})  {default}"
            kind = FieldType(field)
            command = click.option(
                flag(name), name, type=kind, metavar=kind.name, help=text, **how
            )(command)
        return command

    return decorate
