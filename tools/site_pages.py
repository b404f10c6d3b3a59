"""Write the pages of the site that have their text elsewhere: ``docs/conf.py`` calls ``write``.

The package declares its interface, fields, quantities, columns and commands: these pages list them.
Some pages are files of the repository outside docs/. All are in ``docs/made``, which git ignores.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path
from pkgutil import resolve_name

from click.testing import CliRunner

import ngo
import ngo.analysis  # registers the quantities on graphs
import verdicts
from ngo.cli.cli import main
from ngo.cli.list_commands import about
from ngo.pipeline.paths import REPOSITORY
from ngo.report.results_markdown import BEGIN, summary_of
from ngo.training.evaluation import Evaluation
from ngo.training.spec import FIELDS
from verdicts import cli
from verdicts.quantities import QUANTITIES
from verdicts.run_values import VALUES, RunValue

# Files of the repository, and the pages of the site that have their text.
COPIES = {
    "README.md": "made/readme.md",
    "CONTRIBUTING.md": "made/contributing.md",
    "config/README.md": "made/config.md",
    "examples/README.md": "made/examples.md",
    "results/README.md": "made/files.md",
    "src/verdicts/README.md": "made/judge.md",
    "CHANGELOG.md": "made/changelog.md",
}

# What can be imported beside the names of ``ngo`` itself, by subject.
PARTS = {
    "A step, as a method sees it": ["ngo.gossip.step.Step", "ngo.gossip.exchange.Network"],
    "Mixing matrices": [
        "ngo.gossip.mixing_matrix.MixingMatrix",
        "ngo.gossip.mixing_matrix.spectral_gap",
    ],
    "Consensus without learning": ["ngo.gossip.consensus_dynamics.simulate"],
    "Kept models": ["ngo.training.snapshots.load_snapshots", "ngo.training.snapshots.module"],
}


def write(docs: Path) -> None:
    """Write all pages below ``docs/made``; a page that is the same already is not touched."""
    pages = {
        "made/api.md": api(),
        "made/verdicts_api.md": verdicts_api(),
        "made/fields.md": fields(),
        "made/quantities.md": quantities(),
        "made/columns.md": columns(),
        "made/commands.md": commands(),
        "made/methods.md": f"# List of methods and parts\n\n{printed(run('methods'))}",
        "made/answers.txt": answers(),
    }
    for origin, page in COPIES.items():
        pages[page] = (REPOSITORY / origin).read_text(encoding="utf-8")
    for name, text in pages.items():
        path = docs / name
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def answers() -> str:
    """The questions and answers at the top of the README, for the home page."""
    summary = summary_of((REPOSITORY / "README.md").read_text(encoding="utf-8"))
    told = summary.removeprefix(BEGIN).partition("![")[0]
    return told.strip().replace("](docs/", "](") + "\n"


def documented(name: str) -> str:
    """The directive that documents a class, an exception, a function or a module."""
    value = resolve_name(name)
    kind = "module" if inspect.ismodule(value) else "function"
    if inspect.isclass(value):
        kind = "exception" if issubclass(value, Exception) else "class"
    members = "\n   :members:" if kind in ("class", "module") else ""
    return f"```{{eval-rst}}\n.. auto{kind}:: {name}{members}\n```\n"


def api() -> str:
    """The page of ``ngo``'s names."""
    lines = ["# The API of ngo", "", inspect.getdoc(ngo).split("\n\n", 1)[1], ""]
    lines += ["## Names of ngo", "", *(documented(f"ngo.{name}") for name in ngo.__all__[1:])]
    for subject, names in PARTS.items():
        lines += [f"## {subject}", "", *map(documented, names)]
    return "\n".join(lines)


def verdicts_api() -> str:
    """The page of the names of ``verdicts``."""
    values = {name: getattr(verdicts, name) for name in verdicts.__all__ if name != "UserError"}
    modules = {name: value for name, value in values.items() if inspect.ismodule(value)}
    parts = ["# The API of verdicts", ""]
    parts += [documented(f"verdicts.{name}") for name in values if name not in modules]
    parts += ["## Modules", "", "For programs that build on the judge, as `ngo` does.", ""]
    parts += [
        f"- `{name}`: {inspect.getdoc(each).splitlines()[0]}" for name, each in modules.items()
    ]
    return "\n".join([*parts, "", "## Replications", "", documented("verdicts.replication")])


def printed(text: str) -> str:
    """Text in its own lines, as a terminal shows it."""
    return f"```text\n{text.strip()}\n```\n"


def fields() -> str:
    """The page of the fields of a run."""
    head = "Keys of a config, arguments of `ngo.fit`, options of `ngo train`.\n"
    sections = (f"## `{name}`\n\n{about(name)}\n" for name in FIELDS)
    return "\n".join(["# Fields of a run", "", head, *sections])


def run(*words: str) -> str:
    """The output of a command of ``ngo``."""
    result = CliRunner().invoke(main, list(words), catch_exceptions=False, prog_name="ngo")
    if result.exit_code:
        raise RuntimeError(result.output)
    return result.output


def commands() -> str:
    """The page of the commands of ``ngo`` and ``verdicts``, with their help."""
    helps = {"ngo": run("--help")}
    for name in main.list_commands():
        if not main.get_command(None, name).hidden:
            helps[f"ngo {name}"] = run(name, "--help")
    helps["verdicts"] = cli.parser().format_help()
    for name, command in cli.commands().items():
        helps[f"verdicts {name}"] = command.format_help()
    sections = (f"## `{name}`\n\n{printed(text)}" for name, text in helps.items())
    return "\n".join(["# Help of all commands\n", *sections])


def quantities() -> str:
    """The page of quantities that claims can be about."""
    head = "`verdicts quantities` lists those that need no other package.\n"
    entries = sorted(QUANTITIES.items())
    sections = (f"## `{name}`\n\n{printed(entry.description)}" for name, entry in entries)
    return "\n".join(["# Quantities of claims", "", head, values(), *sections])


def values() -> str:
    """The table of the names that ``value`` takes, with their units."""
    rows = ["| value | unit | what it is |", "|---|---|---|"]
    for name, entry in VALUES.items():
        shown = f"{{{name}: x}}" if entry.argument else name
        meaning = " ".join(inspect.getdoc(entry.read).split("\n\n")[0].split())
        rows.append(f"| `{shown}` | {unit(name, entry)} | {meaning.replace('``', '`')} |")
    text = (
        "`value` takes one of these names, or any column of the table. In columns, accuracies are\n"
        "shares of 1: `workers_accuracy_mean: 0.87` is `workers_accuracy: 87`. Margins and limits\n"
        "are in the unit of the value."
    )
    return "\n".join(["## Values", "", text, "", *rows, ""])


def unit(name: str, entry: RunValue) -> str:
    """The unit of a value as the table has it."""
    if entry.unit == "of loss":
        return "nats; a squared error in regression"
    return "that of the column" if name in ("max", "min", "mean") else entry.unit or "none"


def columns() -> str:
    """The page of the columns of a run's metrics: the fields and comments of ``Evaluation``."""
    lines = ["| column | type | meaning |", "|---|---|---|"]
    source = inspect.getsource(Evaluation).replace("|", r"\|")
    for comment, name, kind in re.findall(r"    #: (.*)\n    (\w+): (\w+)", source):
        lines.append(f"| `{name}` | {kind} | {comment} |")
    assert len(lines) == 2 + len(dataclasses.fields(Evaluation))
    return f"# Columns of metrics\n\n{inspect.getdoc(Evaluation)}\n\n" + "\n".join(lines) + "\n"
