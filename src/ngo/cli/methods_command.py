"""``ngo methods``: the parts of a run's step."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict

import click

from ngo.gossip.method import FAILURES
from ngo.gossip.parts import REGISTRIES, MethodPart, Part, parts
from ngo.gossip.parts import methods as all_methods

TITLES = {
    "protocol": "Methods",
    "coupling": "Couplings",
    "local_rule": "Local rules",
    "lr_schedule": "Schedules of the learning rate",
    "compression": "Compressions",
    "topology": "Topologies",
}

WIDTH = 100

# Fields whose values, or whose use, the table of methods shows.
IN_TABLE = ("topology", "coupling", "compression", *FAILURES)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print all facts as JSON.")
def methods(as_json: bool) -> None:
    """List methods and other parts of a step, and which go together.

    Each part is a value of the option in brackets: a method is named by --protocol. With it stand
    its source, and the fields of a run that it reads; `ngo train --help` explains these. Entries of
    plugins are listed too.
    """
    found = {kind: parts(kind) for kind in REGISTRIES}
    found["protocol"] = all_methods()
    if as_json:
        click.echo(
            json.dumps(
                {k: [asdict(p) for p in v] for k, v in found.items()}, indent=2, ensure_ascii=False
            )
        )
        return
    for kind, each in found.items():
        click.echo(_listed(f"{TITLES[kind]} (--{kind.replace('_', '-')})", each))
    click.echo("What goes together\n")
    click.echo(_table(found["protocol"]))


def _listed(title: str, found: Iterable[Part]) -> str:
    formatter = click.HelpFormatter(width=WIDTH)
    with formatter.section(title):
        formatter.write_dl([(part.name, _about(part)) for part in found])
    return formatter.getvalue()


def _about(part: Part) -> str:
    """The summary, the source, and the fields that the table below does not show."""
    cited = part.source and part.source.removeprefix("the paper, ") in part.summary
    source = f" [{part.source}]" if part.source and not cited else ""
    fields = [name for name in part.fields if name not in IN_TABLE]
    reads = f" Reads {', '.join(fields)}." if fields else ""
    return f"{part.summary}.{source}{reads}" if part.summary else f"{source}{reads}".strip()


def _table(found: Sequence[MethodPart]) -> str:
    """A row for each method, and why some need every message."""
    from tabulate import tabulate

    rows = [
        {
            "method": each.name,
            "couplings": _couplings(each),
            "local rules": _among(each.local_rule, REGISTRIES["local_rule"]),
            "topologies": _topologies(each),
            "sends": " and ".join(each.sends) or "until V ≤ V_th",
            "asynchronous": "yes" if each.asynchronous else "no",
            "failures": "yes" if each.failures else "no",
        }
        for each in found
    ]
    reasons = [
        f"{each.name} {each.needs_every_message}" for each in found if each.needs_every_message
    ]
    sends = "sends: the numbers in each message along an edge, of d parameters; C(d): compressed."
    failures = "failures: links may fail, and workers may be away (--link-failure, --absence)."
    text = f"{sends} {failures} Not so: {'; '.join(reasons)}."
    return f"{tabulate(rows, headers='keys')}\n\n{click.wrap_text(text, WIDTH)}"


def _couplings(method: MethodPart) -> str:
    names = _among(method.coupling, REGISTRIES["coupling"])
    return f"{names}, p = {method.fixed['p']:g}" if "p" in method.fixed else names


def _among(names: Collection[str], known: Collection[str]) -> str:
    return "all" if len(names) == len(known) else ", ".join(names) or "none"


def _topologies(method: MethodPart) -> str:
    if method.graph == "tree":
        return "trees"
    known = REGISTRIES["topology"]
    kinds = {
        "all": set(known),
        "undirected": {name for name, each in known.items() if not each.directed},
        "undirected, fixed": {
            name for name, each in known.items() if not (each.directed or each.varies)
        },
    }
    named = [kind for kind, names in kinds.items() if names == set(method.topology)]
    return named[0] if named else _among(method.topology, known)
