"""The notebook of a figure or table: its text, the parameters, its numbers, its drawing.

Light: the workflow and the commands import this module.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from ngo.plots.declaration import Declared

Notebook = dict[str, object]


def notebook(facts: Declared, parameters: Mapping[str, object]) -> Notebook:
    """The notebook of the figure with these facts, without outputs, as nbformat 4.5 has it.

    ``parameters`` are the values of ``facts.parameters``. Paths are from the folder in which the
    notebook is run, by default that of the repository.
    """
    names = [facts.source.as_posix(), *([facts.name] if facts.default else [])]
    opened = f"Opened({', '.join(map(_literal, names))})"
    asked = ", ".join(f"{name}={name}" for name in facts.parameters[:-2])
    given = [f"{name} = {_literal(parameters[name])}" for name in facts.parameters]
    return {
        "cells": [
            _cell("markdown", "text", f"# {facts.title}\n\n{facts.text}"),
            _cell("code", "parameters", "\n".join(given)),
            _cell(
                "code",
                "numbers",
                "from ngo.plots.making import Opened\n\n"
                f"figure = {opened}\nnumbers = figure.numbers({asked})\nnumbers",
            ),
            _cell("code", "drawing", "figure.save(numbers, tier, out)"),
        ],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _literal(value: object) -> str:
    """A value in Python, with the quotes of this code; lists and mappings over several lines."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list | Mapping) and value:
        return json.dumps(value, ensure_ascii=False, indent=4)  # of texts and numbers
    return repr(value)


def _cell(kind: str, name: str, text: str) -> Notebook:
    tags = {"tags": ["parameters"]} if name == "parameters" else {}
    lines = text.splitlines(keepends=True)
    more = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "id": name, "metadata": tags, **more, "source": lines}
