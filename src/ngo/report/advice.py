"""What to use when: the answer of the board's table of methods in settings to a question.

A setting answers if it has the same kinds of disturbance as the question; the one nearest to it in
the logarithms of the numbers is taken. If none does, the nearest setting with each kind of
disturbance answers for that kind, and no claim is made about their combination.

Light: it imports neither torch nor pandas.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ngo.common.registry import UserError, nearest, shown
from ngo.report.board_tables import CONDITIONS, NOT_MEASURED, BoardCell

ALL = "all"
"""What an answer is about that is about all conditions together."""

EVIDENCE = "docs/settings/figures.md and results/archive/board-metrics.tar"
"""Where the numbers of the table come from, in the repository."""

UNITS = ("bit", "kbit", "Mbit", "Gbit")
"""Of a bandwidth; each is per second."""

COLUMNS = tuple(CONDITIONS)
DISTURBANCES = COLUMNS[1:]
"""The conditions that make learning harder, unlike the number of workers."""

BUDGET = "bandwidth"
"""The condition that is asked as a rate; the table has bytes in a run."""

TERMS = {BUDGET: "limit of bytes", "failing": "failing links", "lateness": "late messages"}
"""What conditions are called, where not as in the table."""

Asked = Mapping[str, float | str]
"""Conditions by name, as numbers; a bandwidth is a text such as 10Mbit. 0 is none."""


@dataclass(frozen=True)
class Answer:
    """A part of an answer: the setting that is nearest to what was asked."""

    about: str
    """What it is about: a column, or ``all`` that was asked."""
    setting: str
    """Empty if nothing was measured."""
    cells: tuple[BoardCell, ...] = ()

    @property
    def advised(self) -> list[str]:
        """The best methods, and those within their interval."""
        return [cell.method for cell in self.cells if cell.best or cell.within]


def check_rate(text: str) -> None:
    """Raise a one-line UserError for a text that is no bandwidth such as 10Mbit."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]+?)(?:/s|ps)?", text.strip())
    number, unit = found.groups() if found else ("0", "")
    if unit.lower() not in map(str.lower, UNITS) or not float(number):
        close = nearest(f"{number}{unit}", [f"{number}{name}" for name in UNITS]) if unit else ""
        raise UserError(
            f"bandwidth: {shown(text)} is not allowed; it must be a number above 0 with a unit: "
            f"{', '.join(UNITS)}.{close}"
        )


def answers(asked: Asked, cells: Sequence[BoardCell]) -> list[Answer]:
    """The answers to a question, which has conditions by the names of ``COLUMNS``.

    One about ``all`` if a measured setting has all kinds of disturbance; else one for each kind.
    """
    settings: dict[str, list[BoardCell]] = {}
    for cell in cells:
        if cell.measured:
            settings.setdefault(cell.setting, []).append(cell)
    fitting = {name: each for name, each in settings.items() if not _differing(asked, each[0])}
    if fitting or not settings:
        return [_nearest(ALL, asked, fitting)]
    return [
        _nearest(kind, asked, {k: each for k, each in settings.items() if each[0].holds(kind)})
        for kind in DISTURBANCES
        if asked.get(kind)
    ] or [Answer(ALL, "")]


def told(asked: Asked, found: Sequence[Answer]) -> Iterator[str]:
    """The answers in lines."""
    if len(found) > 1:
        yield f"All of this together: {NOT_MEASURED}. Each alone:"
        yield ""
    for each in found:
        yield from _told(asked, each)
        yield ""
    advised = [each.advised for each in found if each.setting]
    if len(advised) > 1:
        common = [method for method in advised[0] if all(method in each for each in advised)]
        yield f"Best, or may be as good, in each that is measured: {'; '.join(common) or 'none'}."
    if advised:
        yield f"Evidence: {EVIDENCE}, in the repository."


def _told(asked: Asked, answer: Answer) -> Iterator[str]:
    about = "" if answer.about == ALL else f"{answer.about} {_text(asked[answer.about])}: "
    if not answer.setting:
        yield f"{about}{NOT_MEASURED}: no measured setting is like it."
        return
    first = answer.cells[0]
    yield f"{about}the nearest measured setting is {answer.setting!r}: {first.conditions}."
    if other := _other(asked, first):
        yield f"  It has {', '.join(other)}."
    for cell in answer.cells:
        if cell.best:
            measured = f"{cell.measure} in %: {cell.shown}, {cell.seeds} seeds"
            yield f"  best: {cell.with_values}, {measured}"
    within = [cell.method for cell in answer.cells if cell.within and not cell.best]
    beats = [cell.method for cell in answer.cells if cell.beats_dsgd]
    yield f"  may be as good: {'; '.join(within) or 'none'}"
    yield f"  better than DSGD: {'; '.join(beats) or 'none'}"


def _nearest(about: str, asked: Asked, settings: Mapping[str, Sequence[BoardCell]]) -> Answer:
    """The answer of the setting with the fewest other kinds of disturbance, then the nearest."""
    if not settings:
        return Answer(about, "")
    name = min(settings, key=lambda name: _distance(asked, settings[name][0]))
    return Answer(about, name, tuple(settings[name]))


def _distance(asked: Asked, cell: BoardCell) -> tuple[int, float]:
    far = [
        abs(math.log(float(value) / float(getattr(cell, name))))
        for name, value in asked.items()
        if value and cell.holds(name) and name != BUDGET
    ]
    return len(_differing(asked, cell)), sum(far)


def _differing(asked: Asked, cell: BoardCell) -> list[str]:
    """The kinds of disturbance that are asked for, or measured, and not both."""
    return [name for name in DISTURBANCES if bool(asked.get(name)) != cell.holds(name)]


def _other(asked: Asked, cell: BoardCell) -> list[str]:
    """How a setting differs from what was asked: ``workers 16 in place of 32``."""
    both = [name for name in COLUMNS if asked.get(name) and cell.holds(name)]
    said = [
        f"{name} {getattr(cell, name)} in place of {_text(asked[name])}"
        for name in both
        if name != BUDGET and getattr(cell, name) != _text(asked[name])
    ]
    said += ["a limit of bytes in place of a rate"] * (BUDGET in both)
    differing = _differing(asked, cell)
    return said + [
        f"{'no ' if asked.get(name) else ''}{TERMS.get(name, name)}" for name in differing
    ]


def _text(asked: float | str) -> str:
    """What was asked, as the table has it."""
    return asked if isinstance(asked, str) else f"{asked:g}"
