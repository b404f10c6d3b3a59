"""Write the generated pages of the site, in ``docs/made``; ``docs/conf.py`` calls ``write``.

Most list what the package declares: fields, quantities, columns and commands. The others are copies
of files outside docs/. Git ignores ``docs/made``.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Mapping
from pathlib import Path

import click
from tabulate import tabulate

import ngo.analysis.quantities  # noqa: F401 (registers the library's own)
from ngo.cli.cli import main
from ngo.cli.list_commands import about
from ngo.common.files import write_changed
from ngo.pipeline.paths import REPOSITORY
from ngo.training.evaluation import Evaluation
from ngo.training.spec import FIELDS
from verdicts import cli
from verdicts.files import read_mapping
from verdicts.quantities import QUANTITIES
from verdicts.run_values import VALUES

#: Files of the repository, and the pages of the site that have their text.
COPIES = read_mapping(Path(__file__).with_name("site_copies.yaml"), "copies")


def write(docs: Path, pages: Mapping[str, str]) -> None:
    """Write all pages below ``docs/made``; a page that is the same already is not touched."""
    pages = {
        **pages,
        **{page: (REPOSITORY / origin).read_text("utf-8") for origin, page in COPIES.items()},
        "made/fields.md": fields(),
        "made/quantities.md": quantities(),
        "made/columns.md": columns(),
        "made/commands.md": commands(),
    }
    for name, text in pages.items():
        write_changed(docs / name, text)


def printed(text: str) -> str:
    """Text in its own lines, as a terminal shows it."""
    return f"```text\n{text.strip()}\n```\n"


def page(title: str, texts: Mapping[str, str], *heads: str) -> str:
    """A page with its title, the paragraphs ``heads``, and a section for each of ``texts``."""
    sections = (f"## `{name}`\n\n{text}" for name, text in texts.items())
    return "\n".join([f"# {title}\n", *(f"{head}\n" for head in heads), *sections])


def fields() -> str:
    """The page of the fields of a run."""
    head = "Keys of a config, arguments of `ngo.fit`, options of `ngo train`."
    return page("Fields of a run", {name: f"{about(name)}\n" for name in FIELDS}, head)


def commands() -> str:
    """The page of the commands of ``ngo`` and ``verdicts``, with their help."""
    group = click.Context(main, info_name="ngo", terminal_width=80)
    helps = {"ngo": group.get_help()}
    for name in main.list_commands():
        command = main.get_command(group, name)
        if not command.hidden:
            helps[f"ngo {name}"] = click.Context(command, group, name).get_help()
    for command in cli.parsers().values():
        helps[command.prog] = command.format_help()
    return page("Help of all commands", {name: printed(text) for name, text in helps.items()})


def quantities() -> str:
    """The page of quantities that claims can be about."""
    head = "`verdicts quantities` lists those that need no other package."
    texts = {name: printed(entry.description) for name, entry in sorted(QUANTITIES.items())}
    return page("Quantities of claims", texts, head, values())


#: What stands above the table of values.
OF_VALUES = """\
`value` takes one of these names, or any column of the table. In columns, accuracies are shares of
1: `workers_accuracy_mean: 0.87` is `workers_accuracy: 87`. Margins and limits are in the unit of
the value."""


def values() -> str:
    """The table of the names that ``value`` takes, with their units."""
    rows = []
    for name, entry in VALUES.items():
        shown = f"{{{name}: x}}" if entry.argument else name
        meaning = " ".join(inspect.getdoc(entry.read).split("\n\n")[0].split())
        unit = "that of the column" if name in ("max", "min", "mean") else entry.unit or "none"
        unit = unit.replace("of loss", "nats; a squared error in regression")
        rows.append((f"`{shown}`", unit, meaning.replace("``", "`")))
    return f"## Values\n\n{OF_VALUES}\n\n{tabulate(rows, ['value', 'unit', 'what it is'], 'pipe')}"


def columns() -> str:
    """The page of the columns of a run's metrics: the fields and comments of ``Evaluation``."""
    source = inspect.getsource(Evaluation).replace("|", r"\|")
    found = re.findall(r"    #: (.*)\n    (\w+): (\w+)", source)
    assert len(found) == len(dataclasses.fields(Evaluation))
    rows = [(f"`{name}`", kind, comment) for comment, name, kind in found]
    table = tabulate(rows, ["column", "type", "meaning"], "pipe")
    return f"# Columns of metrics\n\n{inspect.getdoc(Evaluation)}\n\n{table}\n"
