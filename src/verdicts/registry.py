"""Registries of named entries, and the error for a user's mistake.

Entries import large libraries inside their functions, so that their names are known without these.
"""

import difflib
import importlib
import pkgutil
import re
import runpy
from collections import UserDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def printable(text: str, keep: str = "") -> str:
    r"""Text with escapes such as ``\u001b`` in place of characters that steer a terminal.

    These are control characters (line breaks, too), changes of the direction of reading, and
    invisible characters. Those in ``keep`` stay.
    """
    return _UNPRINTABLE.sub(
        lambda match: match[0] if match[0] in keep else f"\\u{ord(match[0]):04x}", text
    )


#: The most names that a message lists, and the most that are compared with an unknown one.
MOST_NAMED, MOST_COMPARED = 30, 2000


class UserError(Exception):
    """A user's mistake, in one line: the key, the value, what is allowed."""

    def __str__(self) -> str:
        """The message, which may quote a stranger's file, without control characters."""
        return printable(Exception.__str__(self))  # not a KeyError's, which is a repr


UserError.__module__ = "verdicts"  # which has it as a public name


class TableError(UserError):
    """A mistake in the rows of a table: nothing is judged on it."""


def shown(value: object) -> str:
    """The repr of a value, shortened to fit a message."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer with thousands of digits, for example
        return f"this {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:77]}…"


def nearest(name: object, known: Iterable[object], cutoff: float = 0.5) -> str:
    """`` Did you mean 'ring'?`` with the known name closest to ``name``; empty if none is close.

    Of the names, ``MOST_COMPARED`` are compared: those first that begin with the same two letters.
    """
    names, wanted = {str(other).lower(): other for other in known}, str(name).lower()
    alike_first = sorted(names, key=lambda other: (other != wanted, other[:2] != wanted[:2]))
    close = difflib.get_close_matches(wanted, alike_first[:MOST_COMPARED], n=1, cutoff=cutoff)
    return f" Did you mean {names[close[0]]!r}?" if close else ""


def unknown(key: str, name: object, known: Iterable[str]) -> UserError:
    """The error for an unknown name: the known ones, and the nearest match."""
    known = sorted(known)
    more = f", … and {len(known) - MOST_NAMED} more" if len(known) > MOST_NAMED else ""
    allowed = ", ".join(known[:MOST_NAMED]) + more
    return UserError(f"{key}: {shown(name)} is unknown; allowed: {allowed}.{nearest(name, known)}")


def one_of(key: str, value: Any, known: Iterable[str]) -> str:
    """A name that is one of the known ones."""
    if not isinstance(value, str) or value not in known:
        raise unknown(key, value, map(str, known))
    return value


def check(right: object, key: str, value: Any, instead: str) -> Any:
    """The value; if it is not ``right``, a UserError, which says what to do instead."""
    if not right:
        raise UserError(f"{key}: {shown(value)} is not allowed; {instead}.")
    return value


class UnknownName(UserError, KeyError):
    """The error of a registry for a name that it does not have."""


class Registry(UserDict[str, T]):
    """A dictionary of named entries. Looking up an unknown name raises a UserError.

    Entries register themselves when their module is imported. The first look imports ``modules``.
    """

    def __init__(self, kind: str, *modules: str) -> None:
        # What an entry is, in a word; in a config, the key under which a user names it.
        self.kind = kind

        # The modules of the entries, and those that are still to be imported.
        self.modules = self._ahead = modules

        # The entries so far.
        self.known: dict[str, T] = {}

        # Where each entry is defined, as "module:qualname".
        self.definitions: dict[str, str] = {}

        # The number of each entry, which is raised when its results change.
        self.versions: dict[str, int] = {}

    @property
    def data(self) -> dict[str, T]:  # type: ignore[override]  # it is read from modules
        """All entries."""
        for name in self._ahead:  # a look of another thread waits for the same imports
            importlib.import_module(name)
        self._ahead = ()
        return self.known

    def beside(self, definition: Callable[..., object] | None) -> dict[str, T]:
        """All entries; for a definition in one of ``modules``, those so far.

        A new entry is compared with them. Its own modules are being imported then.
        """
        own = definition is not None and definition.__module__.startswith(self.modules)
        return self.known if own else self.data

    def __missing__(self, name: str) -> T:
        raise UnknownName(*unknown(self.kind, name, self).args)

    def add(
        self, name: str, entry: T, definition: Callable[..., object] | None = None, version: int = 1
    ) -> T:
        """Register ``entry``, whose function is ``definition``, under ``name``.

        ``version`` is raised when its results change.

        A UserError if another entry has that name. The same definition may come again, as in a
        notebook's cell that is run twice: it replaces the entry.
        """
        right = re.fullmatch("[A-Za-z0-9_][A-Za-z0-9_.-]*", name)
        check(right, self.kind, name, "use letters, digits, _, - and .")
        defined = definition and f"{definition.__module__}:{definition.__qualname__}"
        if name in self.beside(definition) and (
            defined is None or self.definitions.get(name) != defined
        ):
            raise UserError(f"{self.kind}: {name!r} is registered already; choose another name.")
        self.known[name] = entry
        self.versions[name] = version
        if defined is not None:
            self.definitions[name] = defined
        return entry


def load_entries(name: str) -> None:
    """Import a module, or every module of a package, by name: they register their entries."""
    package = importlib.import_module(name)
    for module in pkgutil.iter_modules(getattr(package, "__path__", ())):
        importlib.import_module(f"{name}.{module.name}")


def as_list(value: Any) -> list[Any]:
    """A list itself, and the list of any other value."""
    return value if isinstance(value, list) else [value]


def in_a_line(error: BaseException) -> str:
    """The first line of an error's message; the name of its type if the message is empty."""
    return str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__


@contextmanager
def strange(reason: str) -> Iterator[None]:
    """Within it, whatever a stranger's values or code lead to is a UserError with a ``reason``."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:  # values of other types than ours: a library may raise anything
        raise UserError(f"{reason} ({type(error).__name__}: {in_a_line(error)[:200]})") from None


def load_plugin(name: str) -> None:
    """Import a module, or the Python file at a path that ends in ``.py``. It runs with your rights.

    Raises a UserError, in one line, if it can't be imported.
    """
    with strange(f"import: {name!r} can't be imported"):
        if not name.endswith(".py"):
            load_entries(name)
        elif Path(name).exists() and not Path(name).is_file():  # opening a pipe may block for ever
            raise UserError(f"import: {name!r} can't be imported: it is not a regular file.")
        else:
            runpy.run_path(name, run_name=Path(name).name)  # no name that a module can have
