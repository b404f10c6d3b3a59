"""Executing notebooks with parameters: a user's, or that of a figure or table."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterable
from pathlib import Path

import yaml
from jsonschema import ValidationError

from ngo.common.paths import writable_folder
from ngo.common.registry import UserError, unknown
from ngo.plots.declaration import read_declared
from ngo.plots.notebook import notebook


def execute(
    source: Path, out: Path, parameters: Iterable[str], experiment: str | None = None
) -> None:
    """Execute ``source`` with ``NAME=VALUE`` parameters, and save it as the notebook ``out``.

    ``source`` is a notebook, or the file of a figure or table (``ngo.plots.declaration``), which
    needs all of its parameters; ``experiment`` is that of a default figure. Values are parsed as
    YAML. Raises a UserError for a parameter that the notebook does not have (papermill ignores it),
    and for a cell that fails; ``out`` then ends with the traceback.
    """
    import nbformat
    import papermill
    from papermill.engines import papermill_engines
    from papermill.exceptions import PapermillExecutionError

    from ngo.pipeline.in_process import InProcess

    logging.getLogger("papermill").setLevel(logging.WARNING)
    book: object = source
    if source.suffix == ".py":
        facts = read_declared(source)
        facts = facts.of(experiment) if experiment else facts
        values = _values(source, parameters, facts.parameters)
        if missing := [name for name in facts.parameters if name not in values]:
            raise UserError(f"param of {source}: {missing[0]!r} is missing.")
        book, values = nbformat.from_dict(notebook(facts, values)), {}
    else:
        values = _values(source, parameters, _inspected(source))
    writable_folder(out.parent)
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    papermill_engines.register("here", InProcess)
    try:
        papermill.execute_notebook(
            book,
            str(out).replace("{", "{{").replace("}", "}}"),  # which papermill formats
            values,
            progress_bar=False,
            engine_name="here",
            kernel_name="python3",
        )
    except PapermillExecutionError as error:
        raise UserError(
            f"{source}: cell {error.exec_count} raised {error.ename}: {error.evalue}; "
            f"the executed notebook with its traceback is {out}."
        ) from None


def _inspected(book: Path) -> Iterable[str]:
    """The names of a notebook's parameters."""
    import papermill

    try:
        with warnings.catch_warnings(action="ignore"):  # about a name that does not end in .ipynb
            return papermill.inspect_notebook(book)
    except (AttributeError, KeyError, ValueError, ValidationError) as error:
        reason = str(error).splitlines()[0][:100]
        raise UserError(f"{book}: this is not a notebook: {reason}") from None


def _values(source: Path, parameters: Iterable[str], known: Iterable[str]) -> dict[str, object]:
    """The values of ``NAME=VALUE`` parameters by name."""
    values = {}
    for parameter in parameters:
        name, equals, value = parameter.partition("=")
        if not equals:
            raise UserError(f"param: {parameter!r} must be NAME=VALUE")
        if name not in known:
            raise unknown(f"param of {source}", name, known)
        try:
            values[name] = yaml.safe_load(value)
        except (yaml.YAMLError, ValueError) as error:
            problem = " ".join(str(error).split())
            raise UserError(f"param: {parameter!r} is not valid YAML: {problem}") from None
    return values
