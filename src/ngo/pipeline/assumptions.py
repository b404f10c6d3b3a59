"""Assumptions: the values in a config that the paper does not state, with the reasons."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from operator import getitem
from pathlib import Path

import yaml
from tabulate import tabulate

from ngo.pipeline.config import read_config
from ngo.pipeline.experiments import PREFIX
from ngo.pipeline.paths import NGO, archived_name
from ngo.pipeline.plan import Plan, plan
from ngo.printing import inert, page
from verdicts.registry import UserError

MARK = re.compile(r"\bassumed:\s*")
COMMENT = re.compile(r"(?:^|\s)#\s+(.*\bassumed:.*)")

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
    config = read_config(configs)
    planned = plan(config)
    return [
        item
        for item in assumptions(configs)
        if planned.paper.name == NGO
        or item.file != Path(configs[0])
        or (planned.paper.name and _used(item.place, config, planned))
    ]


def _used(place: Place, config: Mapping, planned: Plan) -> bool:
    section, name = place[0], place[1] if len(place) > 1 else None
    sampled = [name.removeprefix(PREFIX) for name in planned.universes]
    named: dict[str, Collection[str]] = {"training": planned.training, "universes": sampled}
    named["partitions"] = planned.partitions
    named |= {"artefacts": planned.artefacts, **planned.measures}
    if section == "defaults":
        default = config[section][name]
        return any(getattr(spec, str(name)) == default for spec in planned.runs.values())
    if section == "settings":
        kept = [config[kind][entry] for kind, entries in named.items() for entry in entries
                if entry in config.get(kind, {})]  # fmt: skip
        return any(name in entry.get("settings", [entry.get("setting")]) for entry in kept)
    return section not in named or name in named[section]


def assumptions(configs: Sequence[str | Path]) -> list[Assumption]:
    """The assumed values of a base config with its overlays, in the order of the config's sections.

    A value is assumed if its line ends in ``# assumed: why``. On the line of a key or an item whose
    value continues below, the comment applies to that whole value. If an overlay replaces a value,
    the overlay's comment applies, or none. Raises a UserError for a file that is not a config, and
    for a comment on a line without a value.
    """
    marked: dict[Place, tuple[str, Path]] = {}
    base: dict = {}
    for number, path in enumerate(configs, start=1):
        replaced = set(_replaced(base, read_config([path])))
        marked = {
            place: why
            for place, why in marked.items()
            if not any(place[:k] in replaced for k in range(1, len(place) + 1))
        }
        marked |= {place: (reason, Path(path)) for place, reason in _marked(path)}
        base = read_config(configs[:number])
    sections = list(base)
    return [
        Assumption(place, reduce(getitem, place, base), *why)
        for place, why in sorted(marked.items(), key=lambda item: sections.index(item[0][0]))
    ]


def as_markdown(values: Sequence[Assumption], tier: str) -> str:
    """A caption, and a Markdown table for each section of the config."""
    parts = [_caption(values, tier)]
    for section, rows in _tables(values).items():
        cells = [{name: inert(text) for name, text in row.items()} for row in rows]
        table = tabulate(cells, "keys", tablefmt="pipe", disable_numparse=True)
        parts.append(f"## {inert(section)}\n\n{table}")
    return "\n\n".join(parts) + "\n"


def as_html(values: Sequence[Assumption], tier: str) -> str:
    """The caption and the tables as an HTML page."""
    return page(_caption(values, tier), _tables(values))


def _caption(values: Sequence[Assumption], tier: str) -> str:
    if not values:
        return f"No value is marked as assumed. Tier {tier}."
    files = ", ".join(sorted({archived_name(item.file) for item in values}))
    number = "1 value" if len(values) == 1 else f"{len(values)} values"
    return (
        f"Values that the paper does not state, and why they are what they are. Tier {tier}; "
        f"{number}, from {files}."
    )


def _tables(values: Sequence[Assumption]) -> dict[str, list[dict[str, str]]]:
    return {
        section: [{"Where": i.key, "Value": _written(i.value), "Why": i.reason} for i in items]
        for section, items in groupby(values, key=lambda item: str(item.place[0]))
    }


def _written(value: object) -> str:
    """A value as the config writes it, on one line."""
    line = yaml.safe_dump([value], default_flow_style=True, allow_unicode=True, width=10**6)
    return line.strip()[1:-1]


def _replaced(base: Mapping, overlay: Mapping, above: Place = ()) -> Iterator[Place]:
    """The places in ``base`` whose values ``overlay`` replaces."""
    for name, value in overlay.items():
        if isinstance(value, Mapping) and isinstance(base.get(name), Mapping):
            yield from _replaced(base[name], value, (*above, name))
        elif name in base:
            yield (*above, name)


def _marked(path: str | Path) -> Iterator[tuple[Place, str]]:
    """The places of assumed values in a config file, and the reasons."""
    text = Path(path).read_text(encoding="utf-8")
    entries = list(_entries(yaml.compose(text, Loader=yaml.SafeLoader)))
    for line, content in enumerate(text.splitlines()):
        if not (comment := COMMENT.search(content)):
            continue
        # A value that ends on this line, or else the key of a value that continues below.
        inline = [at for at, first, last in entries if last is not None and line in (first, last)]
        above = [at for at, first, _ in entries if first == line]
        if not (inline or above):
            raise UserError(
                f"config: line {line + 1} of {str(path)!r} has an assumption without a "
                f"value; write '# assumed: why' at the end of the value's line."
            )
        yield (inline[0] if inline else above[-1]), MARK.sub("", comment[1], count=1).strip()


def _entries(node: yaml.Node, above: Place = ()) -> Iterator[tuple[Place, int, int | None]]:
    """(place, first line, last line) of each value below ``node``, outer ones first.

    The first line has the value's key or dash. The last line is None for a block: its items have
    their own lines.
    """
    if isinstance(node, yaml.MappingNode):
        items = [(key.value, key.start_mark.line, value) for key, value in node.value]
    elif isinstance(node, yaml.SequenceNode):
        items = [(k, value.start_mark.line, value) for k, value in enumerate(node.value)]
    else:
        return
    for k, first, value in items:
        block = isinstance(value, yaml.CollectionNode) and not value.flow_style
        yield (*above, k), first, None if block else value.end_mark.line
        yield from _entries(value, (*above, k))
