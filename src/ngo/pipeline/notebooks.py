"""Executing notebooks with parameters: a user's, or that of a figure or table."""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Iterable
from pathlib import Path

import yaml
from jsonschema import ValidationError
from traitlets.config import Config

from ngo.common import plugins
from ngo.common.paths import writable_folder
from ngo.common.registry import UserError, unknown
from ngo.figures.declaration import read_declared
from ngo.figures.notebook import notebook


def execute(
    source: Path, out: Path, parameters: Iterable[str], experiment: str | None = None
) -> None:
    """Execute ``source`` with ``NAME=VALUE`` parameters, and save it as the notebook ``out``.

    ``source`` is a notebook, or the file of a figure or table (``ngo.figures.declaration``), which
    needs all of its parameters; ``experiment`` is that of a default figure. Values are parsed as
    YAML. Raises a UserError for a parameter that the notebook does not have (papermill ignores it),
    and for a cell that fails; ``out`` then ends with the traceback.
    """
    import nbformat
    import papermill
    from papermill.exceptions import PapermillExecutionError

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
    # The kernel and this process use sockets in a temporary folder, not TCP.
    with tempfile.TemporaryDirectory() as folder:
        _offer_kernel(Path(folder))
        local = Config({"KernelManager": {"transport": "ipc", "ip": f"{folder}/kernel"}})
        try:
            papermill.execute_notebook(
                book,
                str(out).replace("{", "{{").replace("}", "}}"),  # which papermill formats
                values,
                progress_bar=False,
                config=local,
                # No error if it is interrupted at the end, and no '' in sys.path.
                extra_arguments=["--log-level=CRITICAL", "--ignore-cwd"],
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


def _offer_kernel(folder: Path) -> None:
    """Make this Python Jupyter's ``python3``, whatever kernels the user has.

    It imports the plugins of this process, and no modules from the working directory.
    """
    module = ["ipykernel_launcher"]
    if loaded := plugins.loaded():
        flags = (word for plugin in loaded for word in ("--plugin", str(plugin.path)))
        module = ["ngo", *flags, "kernel"]
    argv = [sys.executable, "-P", "-m", *module, "-f", "{connection_file}"]
    place = folder / "kernels/python3/kernel.json"
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps({"argv": argv, "display_name": "Python 3", "language": "python"}))
    os.environ["JUPYTER_PATH"] = str(folder)
