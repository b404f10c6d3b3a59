"""Write the reference of methods, and a page for each notebook, in ``docs/made``.

``docs/_templates`` has the templates. ``docs/conf.py`` calls ``write``.
"""

from __future__ import annotations

import cmath
import json
import re
from collections.abc import Iterator
from pathlib import Path

import torch
from formulas import with_formulas
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from tabulate import tabulate

from ngo.cli import list_commands as listed
from ngo.common.registries import REGISTRIES, TOPOLOGIES
from ngo.gossip import step_parts
from ngo.pipeline.paths import REPOSITORY
from ngo.report.contents import SHIPPED, read_shipped
from ngo.report.findings import read_findings
from ngo.training.spec import FIELDS
from ngo.training.spec_checks import resolve

DOCS = REPOSITORY / "docs"


def pages() -> dict[str, str]:
    """The pages by their paths in docs/."""
    drawn = {f"made/figures/{name}.md": text for name, text in figures().items()}
    overview = rendered("figures.md.jinja", names=sorted(Path(path).stem for path in drawn))
    return {"made/methods.md": methods(), "made/figures.md": overview, **drawn}


def rendered(template: str, **values: object) -> str:
    """The page of a template in ``docs/_templates``."""
    loader = FileSystemLoader(DOCS / "_templates")
    made = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True)
    return made.get_template(template).render(values)


def methods() -> str:
    """The reference of all parts of a step: what ``ngo methods`` lists, with whole docstrings."""
    rows, meanings = listed.together()
    return rendered(
        "methods.md.jinja",
        parts={
            listed.TITLES[kind]: (
                kind,
                with_formulas(listed.notes(kind)),
                {name: part(kind, name) for name in sorted(REGISTRIES[kind])},
            )
            for kind in step_parts.PARTS
        },
        together=tabulate(rows, "keys", "pipe"),
        meanings=meanings,
        places=[*map(at, range(WORKERS))],
    )


def part(kind: str, name: str) -> dict[str, object]:
    """What the page of methods says of an entry."""
    return {
        "about": [with_formulas(text) for text in step_parts.docstring(kind, name).split("\n\n")],
        "directed": kind == "topology" and TOPOLOGIES[name].directed,
        "example": ", ".join(f"{key}: {value}" for key, value in example(kind, name).items()),
        "options": listed.read_by(kind, name),
        "source": REGISTRIES[kind].definitions[name].partition(":")[0],
        "pictures": [*pictures(name)] if kind == "topology" else [],
    }


#: What a run needs beside an entry, or an entry of a kind.
BESIDE = {
    **{"ad_psgd": {"clock": "asynchronous"}, "relay_sum": {"topology": "chain"}},
    **{"implicit": {"topology": "random_matching"}, "phases": {"second_gamma": 0.5}},
    **{name: {"workers": 8} for name in ("hypercube", "one_peer_hypercube")},
    **{"compression": {"method": "choco"}, "directed": {"method": "push_sum"}},
}


def example(kind: str, name: str) -> dict[str, object]:
    """Fields of a run with an entry that can be trained, and the values of what the entry reads."""
    directed = kind == "topology" and TOPOLOGIES[name].directed
    beside = BESIDE.get(name) or BESIDE.get("directed" if directed else kind, {})
    options = listed.read_by(kind, name)
    if "graph" in options:  # a file, which is not here
        return {**beside, kind: name, "graph": "graph.csv"}
    run = resolve({**beside, kind: name})
    read = {option: getattr(run, option) for option in options}
    return {**beside, kind: name, **{key: v for key, v in read.items() if v is not None}}


#: The number of workers in pictures of graphs, and the most graphs of one topology.
WORKERS, GRAPHS = 8, 4


def pictures(name: str) -> Iterator[list[tuple[complex, complex]]]:
    """The graphs of a topology's first steps, as the ends of lines between workers on a circle."""
    entry = TOPOLOGIES[name]
    values = {field: FIELDS[field].default for field in entry.fields}
    values |= {"clique_size": 4} if "clique_size" in values else {}  # two cliques
    generator = torch.Generator().manual_seed(0)
    if "graph" in values:  # it is in a file
        return
    for t in range(min(GRAPHS, entry.period(WORKERS, **values) or GRAPHS)):
        edges = entry.edges(WORKERS, t=t, generator=generator, **values)
        yield [(at(i), at(j)) for i, j in edges]


def at(worker: int) -> complex:
    """The place of a worker on the circle; the first one is on top."""
    return -1j * cmath.exp(2j * cmath.pi * worker / WORKERS)


def figures() -> dict[str, str]:
    """A page for each notebook of the first campaign: its cells, what it drew, and the answer."""
    shipped = read_shipped(REPOSITORY / SHIPPED)
    asked = read_findings(REPOSITORY / "config/reference/findings.yaml")["questions"]
    sections = (DOCS / "results/figures.md").read_text(encoding="utf-8").split('\n<a id="')
    claims = (DOCS / "results/claims.md").read_text(encoding="utf-8")
    pages = {}
    for section in sections[1:]:
        name = section.partition('"')[0]
        notebook = REPOSITORY / f"notebooks/{name}.ipynb"
        if not notebook.exists():  # an experiment: all of them have one notebook
            continue
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        texts = [(cell["cell_type"] == "code", "".join(cell["source"])) for cell in cells]
        drawn = section.partition("\n\n### ")[2].partition("\n## ")[0].split("\n\n")
        pages[name] = rendered(
            "figure.md.jinja",
            name=name,
            cells=texts,
            drawn=[part for part in drawn[1:] if part.strip() not in texts[0][1]],
            answers={
                question["asks"]: shipped.answers[question["asks"]]
                for question in asked
                if question.get("figure") == name and question["asks"] in shipped.answers
            },
            claims=re.findall(
                rf'^\| <a id="(.*?)"></a>\[(.*?)\]\(figures\.md#{name}\)(.*)', claims, re.MULTILINE
            ),
        )
    return pages
