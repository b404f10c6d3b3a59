"""The entries of a claims file written out: ``for_each`` and printed numbers in place.

The form of a claim is a hash of what decides it: its entry, written out, with its gates, its plan
and the forms of the claims that it pools. Words do not count (``WORDS``), nor the reason of a mark;
the mark does. Numbers count by value: 1 is 1.0.
"""

from __future__ import annotations

import csv
import fnmatch
import hashlib
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from itertools import product
from pathlib import Path
from typing import Any

from verdicts.claims.claim import MARKS
from verdicts.files import content_of, mapping
from verdicts.printed_tables import printed_number
from verdicts.quantities import POOLED
from verdicts.registry import UserError, as_list, check, in_a_line, one_of, shown

FOR_EACH = "for_each"

#: Values and characters that a file may have with its entries written out.
MOST = 10**7


class Resolved:
    """The entries of a file, by name, written out; what they contain is not checked.

    ``folder`` has the printed numbers. Raises a one-line UserError for a mistake in what is written
    out.
    """

    def __init__(self, content: Mapping[Any, object], folder: Path) -> None:
        sections = (mapping(name, content.get(name, {})) for name in ("gates", "claims"))
        self.gates, claims = map(expanded, ("gates", "claims"), sections)
        #: The plan of claims that name none.
        self.looks = content.get("looks")
        #: The files with printed numbers that claims name, and where in them each number is.
        self.printed = printed = PrintedNumbers(folder)
        self.claims = {id: printed.numbers(f"claims.{id}", entry) for id, entry in claims.items()}
        #: Those that are mappings, by their ids as text.
        self.known = {str(id): e for id, e in self.claims.items() if isinstance(e, Mapping)}
        pooled = {id: e for id, e in self.known.items() if e.get("quantity") == POOLED}
        single = [id for id in self.known if id not in pooled]
        #: The ids of the claims that each pooled one names; a name without a claim stays.
        self.members = {id: _members(entry.get("with"), single) for id, entry in pooled.items()}


def _members(arguments: object, single: Sequence[str]) -> tuple[str, ...]:
    """The claims that are named by id or by a pattern, which stands for ``single`` ones."""
    named = as_list(arguments.get("claims", []) if isinstance(arguments, Mapping) else [])
    found = [id for name in map(str, named) for id in fnmatch.filter(single, name) or [name]]
    return tuple(dict.fromkeys(found))


def expanded(section: str, entries: Mapping[Any, object]) -> dict[object, object]:
    """The entries of a section; one with ``for_each`` occurs for each combination of its values.

    ``for_each: {data: [mnist, digits]}`` puts ``mnist`` and then ``digits`` in place of ``{data}``
    in the id and in all texts of the entry. A text that is ``{data}`` alone becomes the value
    itself, so a number stays one. A value may be a mapping: ``{data.label}`` is its entry.
    Entries inside an entry (a claim's cells) may have a ``for_each`` too. Raises a UserError for a
    name without a value, and for two entries with one id.
    """
    return _Writer().mapping(section, entries, {})


#: The value of each name in scope.
Chosen = Mapping[Any, Any]


class _Writer:
    #: The values and characters so far.
    written = 0

    def mapping(
        self, key: str, entries: Mapping[Any, object], chosen: Chosen
    ) -> dict[object, object]:
        """The entries with the values of ``chosen`` and of their own names."""
        written: dict[object, object] = {}
        for name, entry in entries.items():
            place = f"{key}.{name}"
            for values in self.choices(place, entry, chosen):
                identifier = self.filled(place, name, values)
                if isinstance(identifier, Mapping | list):
                    raise UserError(f"{place}: {shown(identifier)} is not allowed as an id.")
                if identifier in written:
                    needed = sorted(f"{{{missing}}}" for missing in values.keys() - chosen.keys())
                    hint = f"; it needs {', '.join(needed)}" if needed else ""
                    raise UserError(f"{key}: the id {shown(identifier)} occurs twice{hint}.")
                written[identifier] = self.filled(place, entry, values)
        return written

    def choices(self, key: str, entry: object, chosen: Chosen) -> Iterator[Chosen]:
        """The values of all names in scope, for each combination of the entry's own."""
        if not isinstance(entry, Mapping) or FOR_EACH not in entry:
            yield chosen
            return
        place, names = f"{key}.{FOR_EACH}", entry[FOR_EACH]
        check(isinstance(names, Mapping) and names, place, names, "give NAME: [values]")
        lists = []
        for name, given in names.items():
            values: Any = self.filled(f"{place}.{name}", given, chosen)
            right = isinstance(values, list) and values
            check(right, f"{place}.{name}", values, "give a list of values")
            lists.append(values)
        for together in product(*lists):
            yield {**chosen, **dict(zip(names, together, strict=True))}

    def filled(self, key: str, value: object, chosen: Chosen) -> object:
        """A value with all names replaced."""
        self.written += 1
        if isinstance(value, Mapping):
            rest = {name: part for name, part in value.items() if name != FOR_EACH}
            value = self.mapping(key, rest, chosen)
        elif isinstance(value, list):
            value = [self.filled(key, item, chosen) for item in value]
        elif isinstance(value, str) and chosen:
            if alone := re.fullmatch(NAMED, value):
                value = self.filled(key, _named(key, alone[1], chosen), {})  # counted
            else:
                value = re.sub(NAMED, lambda match: _text(key, match[1], chosen), value)
                self.written += len(value)
        if self.written > MOST:
            raise UserError(f"{key}: {FOR_EACH} writes out more than {MOST:,} values.")
        return value


NAMED = r"\{([\w.]+)\}"


def _named(key: str, path: str, chosen: Chosen) -> object:
    """The value of a name, or of an entry of it (``data.label``)."""
    value: Any = chosen
    for part in path.split("."):
        if not isinstance(value, Mapping) or part not in value:
            raise UserError(f"{key}: {{{path}}} has no value in {FOR_EACH}.")
        value = value[part]
    return value


def _text(key: str, path: str, chosen: Chosen) -> str:
    """The value as text; a UserError for a mapping, of which the text must name an entry."""
    value = _named(key, path, chosen)
    if isinstance(value, Mapping):
        one = ", ".join(f"{{{path}.{name}}}" for name in value)
        raise UserError(f"{key}: {{{path}}} is a mapping; name one of {one}.")
    return str(value)


#: The most that a file of printed numbers may have.
MOST_BYTES = 2**24


class PrintedValue(float):
    """A number as it is printed."""

    #: Half of its last digit, and of how many seeds it is; None if that is not reported.
    rounding: float
    seeds: int | None


class PrintedNumbers:
    """The CSV files in the folder of a claims file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        #: The rows of each file that was read, by its path.
        self.files: dict[Path, list[dict[str, str]]] = {}
        #: Where numbers are printed, by their places in the claims file; differences are not there.
        self.sources: dict[str, Mapping[str, Any]] = {}

    def numbers(self, key: str, entry: object) -> object:
        """A claim, its cells included, with the numbers in place of where they are printed."""
        if not isinstance(entry, Mapping):
            return entry
        written = dict(entry)
        for name in ("paper", "near"):
            if isinstance(entry.get(name), Mapping):
                written[name] = self.number(f"{key}.{name}", entry[name])
        if isinstance(cells := entry.get("cells"), Mapping):
            place = f"{key}.cells"
            written["cells"] = {k: self.numbers(f"{place}.{k}", cell) for k, cell in cells.items()}
        return written

    def number(self, key: str, printed: Mapping[str, Any]) -> PrintedValue:
        """The number in the ``column`` of the one row of ``file`` that has the values ``where``.

        Less that of the row ``minus``, if it is given. A value that is None is an empty cell.
        Raises a one-line UserError.
        """
        needed = {"file", "column", "where"}
        right = needed <= printed.keys() <= {*needed, "minus"}
        sides = [printed.get(name) for name in ("where", "minus") if name in printed]
        right = right and all(isinstance(side, Mapping) for side in sides)
        check(right, key, printed, "give a number, or file, column and where (and minus)")
        numbers = [self._printed(key, printed["file"], printed["column"], side) for side in sides]
        value = PrintedValue(round(numbers[0] - sum(numbers[1:]), 12))
        value.rounding, value.seeds = sum(n.rounding for n in numbers), numbers[0].seeds
        if len(numbers) > 1:
            del self.sources[key]
        return value

    def _printed(self, key: str, file: object, column: object, where: Any) -> PrintedValue:
        rows = self._rows(f"{key}.file", file)
        for name in (column, *where):
            one_of(key, name, rows[0])
        wanted = {name: "" if value is None else str(value) for name, value in where.items()}
        found = [row for row in rows if wanted.items() <= row.items()]
        if len(found) != 1:
            raise UserError(f"{key}: {len(found)} rows of {file!r} have {shown(wanted)}; one must.")
        (row,) = found
        number = printed_number(row[str(column)])
        if number is None or number.percent:
            raise UserError(f"{key}: {shown(row[str(column)])} in {file!r} is not a number.")
        self.sources[key] = {"file": file, "column": column, "where": where, "row": row}
        value, told = PrintedValue(number.value), printed_number(row.get("rounding", ""))
        value.rounding = told.value if told else number.rounding
        seeds = row.get("seeds", "")
        value.seeds = int(seeds) if re.fullmatch("[0-9]{1,9}", seeds) else None
        return value

    def _rows(self, key: str, name: object) -> list[dict[str, str]]:
        right = isinstance(name, str) and re.fullmatch(r"\w[\w.-]*\.csv", name)
        check(right, key, name, "name a .csv file in the claims' folder")
        path = self.folder / str(name)
        if path not in self.files:
            content = content_of(path, key, MOST_BYTES)
            try:
                text = StringIO(content.decode("utf-8-sig"), newline="")
                rows = list(csv.DictReader(text, restval=""))
            except (ValueError, csv.Error) as error:
                raise UserError(f"{key}: {name!r} can't be read: {in_a_line(error)}.") from None
            if not rows:
                raise UserError(f"{key}: {name!r} has no rows.")
            if any(None in row for row in rows):
                raise UserError(f"{key}: {name!r} has a row with more values than columns.")
            self.files[path] = rows
        return self.files[path]


#: Keys of a claim that do not decide it.
WORDS = ("place", "says", "quote", "kind", "unit", "shows")


def forms(entries: Resolved) -> dict[str, str]:
    """The form of each claim, by id, in 64 hexadecimal digits; entries need not be valid claims."""
    found = {id: _form(entry, entries) for id, entry in entries.known.items()}
    single = {id: form for id, form in found.items() if id not in entries.members}
    for id, named in entries.members.items():
        members = {member: single[member] for member in named if member in single}
        found[id] = _form({**entries.known[id], "with": members}, entries)
    return found


def _form(entry: Mapping[Any, object], entries: Resolved) -> str:
    deciding = _without(entry, (*WORDS, "looks")).items()
    content = {key: key in MARKS or value for key, value in deciding}
    if "gate" in entry:  # without the reason that is printed
        gates = {str(name): _without(gate, ("else",)) for name, gate in entries.gates.items()}
        content["gate"] = [gates.get(str(name)) for name in as_list(entry["gate"])]
    plan = None if "universes" in entry else entries.looks  # universes are judged once
    if (looks := entry.get("looks", plan)) is not None:
        content["looks"] = looks
    text = json.dumps(_normal(content), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _without(entry: Any, names: tuple[str, ...]) -> Any:
    is_mapping = isinstance(entry, Mapping)
    return {k: v for k, v in entry.items() if k not in names} if is_mapping else entry


def _normal(value: object) -> object:
    """A value as JSON has it, with keys as texts and numbers as floats."""
    if isinstance(value, Mapping):
        return {str(key): _normal(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_normal(item) for item in value]
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int) and abs(value) > sys.float_info.max:
        return hex(value)
    return float(value) if isinstance(value, int | float) else str(value)
