"""Assumptions: the values in a config that its paper does not state, with the reasons."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain, groupby
from operator import getitem
from pathlib import Path

import pandas as pd
import yaml

from ngo import printing
from ngo.pipeline.config import read_config
from ngo.pipeline.paths import NGO, archived_name
from ngo.pipeline.plan import Plan, plan
from verdicts.registry import UserError

COMMENT = re.compile(r"(?:^|\s)#\s+(.*?)\bassumed:\s*(.*)")

Place = tuple[str | int, ...]  # the keys and indices that lead to a value


@dataclass(frozen=True)
class Assumption:
    """A value of the merged config that the paper does not state."""

    place: Place
    value: object
    #: The comment on its line.
    reason: str
    #: The config file that has the value and the comment.
    file: Path

    @property
    def key(self) -> str:
        """Its path, such as ``training.fig4.compare[1].p``."""
        words = (f"[{k}]" if isinstance(k, int) else f".{k}" for k in self.place)
        return "".join(words).removeprefix(".")


def of_paper(configs: Sequence[str | Path]) -> list[Assumption]:
    """The assumed values of the paper that ``configs``, a base and its overlays, are about.

    The base has those of the NGO paper. Another paper has the values that its overlays state, and
    those of the base that its runs, measurements and figures use. A study of a user's own has those
    that its overlays state.
    """
    planned = plan(read_config(configs))
    return [
        item
        for item in assumptions(configs)
        if planned.paper["name"] == NGO
        or item.file != Path(configs[0])
        or (planned.paper["name"] and _used(item.place, planned))
    ]


def _used(place: Place, planned: Plan) -> bool:
    """Whether a run, a measurement or a figure of the plan uses the value at a place."""
    (section, name), kept = (*place, None)[:2], planned.config
    if section == "defaults":
        return any(getattr(spec, name) == kept[section][name] for spec in planned.runs.values())
    if section == "artefacts":
        return name in planned.artefacts
    if section == "unstated":
        return kept[section][name]["paper"] == planned.paper["name"]
    if section == "settings":
        mappings = [entries.values() for entries in kept.values() if isinstance(entries, Mapping)]
        entries = [entry for entry in chain(*mappings) if isinstance(entry, Mapping)]
        return any(name in entry.get("settings", [entry.get("setting")]) for entry in entries)
    return not isinstance(kept[section], Mapping) or name in kept[section]


def assumptions(configs: Sequence[str | Path]) -> list[Assumption]:
    """The assumed values of a base config with its overlays, in the order of the config's sections.

    A value is assumed if its line ends in ``# assumed: why``. On the line of a key or an item whose
    value continues below, the comment applies to that whole value. If an overlay replaces a value,
    the overlay's comment applies, or none. Raises a UserError for a file that is not a config, and
    for a comment on a line without a value.
    """
    marked: dict[Place, tuple[str, Path]] = {}
    for number, path in enumerate(configs):
        base, overlay = read_config(configs[:number]), read_config([path])
        marked = {at: why for at, why in marked.items() if not _replaced(at, base, overlay)}
        marked |= {at: (reason, Path(path)) for at, reason in _marked(path)}
    whole = read_config(configs)
    sections = list(whole)
    return [
        Assumption(place, reduce(getitem, place, whole), *why)
        for place, why in sorted(marked.items(), key=lambda item: sections.index(item[0][0]))
    ]


def as_markdown(values: Sequence[Assumption], tier: str) -> str:
    """A caption, and a Markdown table for each section of the config."""
    tables = _tables(values).items()
    parts = [printing.as_markdown(pd.DataFrame(rows), f"## {name}") for name, rows in tables]
    return "\n".join([f"{_caption(values, tier)}\n", *parts])


def as_html(values: Sequence[Assumption], tier: str) -> str:
    """The caption and the tables as an HTML page."""
    return printing.page(_caption(values, tier), _tables(values))


def _caption(values: Sequence[Assumption], tier: str) -> str:
    if not values:
        return f"No value is marked as assumed. Tier {tier}."
    files = ", ".join(sorted({archived_name(item.file) for item in values}))
    number = "1 value" if len(values) == 1 else f"{len(values)} values"
    what = "Values that the paper does not state, and why they are what they are."
    return f"{what} Tier {tier}; {number}, from {files}."


def _tables(values: Sequence[Assumption]) -> dict[str, list[dict[str, str]]]:
    return {
        section: [{"Where": i.key, "Value": _written(i.value), "Why": i.reason} for i in items]
        for section, items in groupby(values, key=lambda item: str(item.place[0]))
    }


def _written(value: object) -> str:
    """A value as the config writes it, on one line."""
    line = yaml.safe_dump([value], default_flow_style=True, allow_unicode=True, width=10**6)
    return line.strip()[1:-1]


def _replaced(place: Place, base: object, overlay: object) -> bool:
    """Whether ``overlay`` replaces the value of ``base`` at a place, or one that contains it."""
    for key in place:
        if not (isinstance(base, Mapping) and isinstance(overlay, Mapping)):
            return True
        if key not in overlay:
            return False
        base, overlay = base[key], overlay[key]
    return not (isinstance(base, Mapping) and isinstance(overlay, Mapping))


def _marked(path: str | Path) -> Iterator[tuple[Place, str]]:
    """The places of assumed values in a config file, and the reasons."""
    text = Path(path).read_text(encoding="utf-8")
    # The first place of a line counts.
    places = dict(reversed([*_places(yaml.compose(text, Loader=yaml.SafeLoader))]))
    for line, content in enumerate(text.splitlines()):
        if not (comment := COMMENT.search(content)):
            continue
        if line not in places:
            fault = f"line {line + 1} of {str(path)!r} has an assumption without a value"
            advice = "write '# assumed: why' at the end of the value's line"
            raise UserError(f"config: {fault}; {advice}.")
        yield places[line], (comment[1] + comment[2]).strip()


def _places(node: yaml.Node, above: Place = ()) -> Iterator[tuple[int, Place]]:
    """The lines of the values below ``node``; what a line's comment is about comes first there.

    That is the outermost value that starts or ends on the line, or else the innermost of those that
    continue below as a block.
    """
    items = node.value if isinstance(node, yaml.CollectionNode) else []
    for k, item in enumerate(items):
        key, value = item if isinstance(item, tuple) else (item, item)
        place = (*above, k if key is value else key.value)
        block = isinstance(value, yaml.CollectionNode) and not value.flow_style
        if not block:
            yield from ((key.start_mark.line, place), (value.end_mark.line, place))
        yield from _places(value, place)
        if block:
            yield key.start_mark.line, place
