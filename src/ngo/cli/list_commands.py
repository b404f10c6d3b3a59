"""``ngo fields`` and ``methods``: the fields of a run, and the parts of its step."""

from __future__ import annotations

from collections.abc import Collection

import click

from ngo.common.fields import wanted
from ngo.common.registries import LOCAL_RULES, METHODS, REGISTRIES
from ngo.gossip.method import ATTACKED, DECENTRALIZED, Method
from ngo.gossip.step_parts import PARTS, going_with, summary
from ngo.training.spec import FIELDS, flag
from ngo.training.spec_checks import default_in_words

#: Of lines of text.
WIDTH = 100


@click.command()
def fields() -> None:
    """List the fields of a run, and the choices that read them.

    A field is a key of a config, an option of `ngo train` (--batch-size for batch_size), and an
    argument of `ngo.fit`. The options of plugins' entries are listed too.

    List them with those of your own file:
      ngo fields --plugin examples/plugins/cliques.py
    """
    formatter = click.HelpFormatter(width=WIDTH)
    formatter.write_text(
        "A field that is not given has its default, in configs, commands and ngo.fit. But ngo "
        "train takes the first model that fits the data set, and its task; ngo.fit takes a module."
    )
    formatter.write_paragraph()
    formatter.write_dl([(name, about(name)) for name in FIELDS])
    click.echo(formatter.getvalue(), nl=False)


def about(name: str) -> str:
    """The meaning, the allowed values, the default, and the choices that read the field."""
    field = FIELDS[name]
    allowed = ", ".join(sorted(field.names)) if field.names is not None else wanted(field)
    default = "" if field.default is None else f" Default {default_in_words(name)}."
    return f"{field.help}: {allowed}.{default}{_readers(name)}"


def _readers(name: str) -> str:
    words = []
    for owner in FIELDS[name].owners:
        registry = FIELDS[owner].names or {}
        users = [entry for entry in sorted(registry) if name in registry[entry].fields]
        if len(users) < len(registry):
            words.append(f"{owner} {', '.join(users)}")
    return f" Read with {'; '.join(words)}." if words else ""


TITLES = {
    "method": "Methods",
    "coupling": "Couplings",
    "local_rule": "Local rules",
    "lr_schedule": "Schedules of the learning rate",
    "schedule": "Schedules of γ, V_th and graph",
    "compression": "Compressions",
    "topology": "Topologies",
    "attack": "Attacks",
}

# The text under each title: the notation and the terms of the entries.
NOTES = {
    "method": "In a half step, each worker follows the local rule on its own gradient. In a "
    "pull, it moves towards its neighbours, by the coupling. Methods adapt, then combine: what "
    "they pull, mix or relay are models after the half step. Only admm, dsgd_ac and extra combine, "
    "then adapt. “The paper” is the one on NGO.",
    "coupling": "The pull of worker j on worker i, for each entry z of x_j − x_i. γ (gamma) is the "
    "synchronization rate, W_ij the weight of the edge, φ_p(z) = sign(z)|z|^(2p−1). A matching is "
    "a graph in which a worker has one neighbour at most.",
    "local_rule": "x_i is the model of worker i, g_i its gradient, m_i its momentum, η the "
    "learning rate (--lr). Weight decay λ (--weight-decay) goes with each rule: it adds λ x_i to "
    "g_i; with {} it shrinks x_i instead.",
    "lr_schedule": "t is the step, T the number of steps. Warm-up (--warmup) goes with each "
    "schedule: in the first m = warmup × T steps, η_t is multiplied by (t + 1)/m "
    "[Goyal et al. 2017].",
    "schedule": "A decentralized method goes with the schedules of its fields.",
    "compression": "C(z) is sent in place of z, a row of d numbers, by methods with C(d) in the "
    "table below.",
    "topology": "Workers have the numbers 0 … n − 1; on a circle, numbers are taken mod n. In "
    "G(n, u), each edge exists with probability u.",
    "attack": "What a Byzantine worker j, one of the last (--liars), sends to an honest worker i. "
    "A defence is a coupling: clipped, clipped_adaptive, median, trimmed_mean, or power with p "
    "near 1/2.",
}


# Fields of all decentralized methods, and those in the table of methods.
IN_TABLE = ("topology", "coupling", "compression", *DECENTRALIZED, *ATTACKED)


@click.command()
def methods() -> None:
    """List methods and other parts of a step, and which go together.

    Each part is a value of the option in brackets: --method names a method. Its text ends with
    the fields of a run that it reads; `ngo fields` explains fields. Entries of plugins
    are listed too.

    List them with the entries of your own file:
      ngo methods --plugin examples/plugins/cliques.py
    """
    for kind in PARTS:
        click.echo(_listed(kind))
    from tabulate import tabulate

    rows, meanings = together()
    text = "\n".join(click.wrap_text(line, WIDTH, "", "  ") for line in meanings)
    click.echo(f"What goes together\n\n{tabulate(rows, headers='keys')}\n\n{text}")


def notes(kind: str) -> str:
    """The notation and the terms of the entries of a kind."""
    shrinking = (name for name, rule in sorted(LOCAL_RULES.items()) if rule.decoupled_decay)
    return NOTES[kind].format(", ".join(shrinking))


def _listed(kind: str) -> str:
    formatter = click.HelpFormatter(width=WIDTH)
    with formatter.section(f"{TITLES[kind]} ({flag(kind)})"):
        formatter.write_text(notes(kind))
        formatter.write_paragraph()
        formatter.write_dl([(name, _about(kind, name)) for name in sorted(REGISTRIES[kind])])
    return formatter.getvalue()


def read_by(kind: str, name: str) -> list[str]:
    """The fields that an entry reads, apart from those that the table of methods shows."""
    return [field for field in REGISTRIES[kind][name].fields if field not in IN_TABLE]


def _about(kind: str, name: str) -> str:
    """The summary, and the fields that the table below does not show."""
    fields = read_by(kind, name)
    reads = f" Reads {', '.join(fields)}." if fields else ""
    text = summary(kind, name)
    return f"{text}.{reads}" if text else reads.strip()


def together() -> tuple[list[dict[str, str]], tuple[str, ...]]:
    """A row for each method, what the columns mean, and why no link may fail in some."""
    entries = dict(sorted(METHODS.items()))
    rows = [
        {
            "method": name,
            "couplings": _couplings(name),
            "local rules": _among(going_with(name, "local_rule"), REGISTRIES["local_rule"]),
            "topologies": _topologies(name),
            "sends": " and ".join(entry.sends) or "until V ≤ V_th",
            "asynchronous": _asynchronous(entry),
            "failures": "yes" if entry.bears_failures else "no",
        }
        for name, entry in entries.items()
    ]
    matching = (name for name, entry in sorted(REGISTRIES["coupling"].items()) if entry.matching)
    reasons = [
        f"{name} {entry.needs_every_message or 'has no links between workers'}"
        for name, entry in entries.items()
        if not entry.bears_failures
    ]
    attacked = ", ".join(name for name in entries if going_with(name, "attack"))
    meanings = (
        f"couplings: {', '.join(matching)} on matchings only.",
        "topologies: a fixed one is the same in all steps; a tree has no cycles.",
        "sends: the numbers in each message, for a model of d parameters; C(d): compressed; "
        "until V ≤ V_th: messages of d, until V is v_threshold or less.",
        "asynchronous: no worker has to wait for others (--clock asynchronous); "
        "virtual: with --clock asynchronous.",
        f"attacks: Byzantine workers (--attack) with {attacked}; not with --clock asynchronous.",
        "failures: links may fail, and workers may be away (--link-failure, --absence). "
        f"Where they may not: {'; '.join(reasons)}.",
    )
    return rows, meanings


def _asynchronous(entry: Method) -> str:
    return "yes" if entry.asynchronous else "no" if entry.arrivals == "newest" else "virtual"


def _couplings(method: str) -> str:
    names, fixed = going_with(method, "coupling"), METHODS[method].fixed
    listed = _among(names, REGISTRIES["coupling"])
    return f"{listed}, p = {fixed['p']:g}" if "p" in fixed else listed


def _among(names: Collection[str], known: Collection[str]) -> str:
    return "all" if len(names) == len(known) else ", ".join(names) or "none"


def _topologies(method: str) -> str:
    entry, names = METHODS[method], going_with(method, "topology")
    if entry.graph == "tree":
        return "trees"
    if not names:
        return "none"
    words = [*([] if entry.directed else ["undirected"]), *(["fixed"] * (entry.graph == "fixed"))]
    return ", ".join(words) or "all"
