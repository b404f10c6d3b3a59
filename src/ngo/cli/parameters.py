"""Options and arguments of commands, checked before any work, with the messages of configs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from ngo.common.devices import DEVICES
from ngo.common.fields import Field, checked, wanted, within
from ngo.common.files import check_path, check_readable, check_writable, same_file
from ngo.common.registry import UserError


class FieldType(click.ParamType):
    """A value that ``fields.checked`` allows for ``field``."""

    def __init__(self, field: Field) -> None:
        self.field = field
        self.name = {int: "INT", float: "FLOAT", str: "NAME", Path: "FILE"}[field.kind]

    def convert(
        self, value: object, param: click.Parameter | None, context: click.Context | None
    ) -> object:
        """The value, as the field's type. A UserError names the option."""
        key = _key(param).replace("-", "_")
        if self.field.kind in (int, float) and isinstance(value, str):
            number = _number(value, self.field.kind)
            if number is None:
                must = f"it must be {wanted(self.field)}"
                raise UserError(f"{key}: {value!r} is not a number; {must}.")
            value = number
        value = checked(key, value, self.field)
        if self.field.kind is Path:
            told_apart(key, value, context)
        return value

    def shell_complete(
        self, context: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The allowed names that begin so, or any file for a path."""
        if self.field.kind is Path:
            return [CompletionItem(incomplete, type="file")]
        return starting(incomplete, sorted(self.field.names or ()))


def starting(incomplete: str, names: Iterable[str]) -> list[CompletionItem]:
    """The names that begin with ``incomplete``, for the shell."""
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _number(text: str, kind: type) -> float | None:
    """``text`` as a number of type ``kind``, or else as a float; None if it is neither."""
    for parse in (kind, float):
        try:
            return parse(text)
        except ValueError:
            pass
    return None


def told_apart(
    key: str, path: str | Path, context: click.Context | None, written: bool = False
) -> None:
    """Raise a UserError if a command would write a file that it also reads, or another output.

    ``path`` is compared with those of the options and arguments before it.
    """
    if context is None:
        return
    read, made = context.meta.setdefault(__name__, ([], []))
    for other, its_path in [*made, *(read if written else ())]:
        if same_file(path, its_path):
            (out, at), (also, known) = (key, path), (other, its_path)
            if not written:
                out, at, also, known = also, known, out, at
            raise UserError(
                f"{out}: {str(at)!r} is the file of {also}, {str(known)!r}; choose another path."
            )
    (made if written else read).append((key, path))


class PathType(click.ParamType):
    """A path that ``check(path, key)`` allows: of a file to read, or one that is ``written``."""

    name = "path"

    def __init__(self, check: Callable[[str, str], Path], written: bool = False) -> None:
        self.check = check
        self.written = written

    def convert(
        self, value: object, param: click.Parameter | None, context: click.Context | None
    ) -> Path:
        """The path. A UserError names the option."""
        path = value if isinstance(value, Path) else self.check(value, _key(param))
        told_apart(_key(param), path, context, self.written)
        return path

    def shell_complete(
        self, context: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Any file or folder."""
        return [CompletionItem(incomplete, type="file")]


SECONDS = FieldType(Field(float, "seconds", within(0, 1_000_000)))

RESULT = PathType(check_writable, written=True)  # a file to write
FOLDER = PathType(partial(check_writable, folder=True))  # a folder to write to
INPUT = PathType(check_readable)  # a file to read
ROOT = PathType(check_path)  # a folder that may not exist yet


def _key(param: click.Parameter) -> str:
    """The name of an option or argument in messages."""
    return (param.name if isinstance(param, click.Argument) else param.opts[0]).lstrip("-")


device_option = click.option(
    "--device",
    default="auto",
    show_default=True,
    shell_complete=lambda context, param, incomplete: starting(incomplete, DEVICES),
    help=f"One of {', '.join(DEVICES)}.",
)

threads_option = click.option(
    "--threads",
    type=FieldType(Field(int, "threads", within(1, 1024))),
    help="Threads: 1 to 1024  [default: all cores]",
)

table_option = click.option(
    "--out", type=RESULT, required=True, help="Tidy table to write (parquet)."
)


def configs_option(absent: str | None = None) -> Callable:
    """The option --config; without ``absent``, the default in words, a config is needed."""
    told = f"  [default: {absent}]" if absent else "."
    return click.option(
        "--config",
        "configs",
        multiple=True,
        required=absent is None,
        type=INPUT,
        help=f"Config file; later ones override{told}",
    )
