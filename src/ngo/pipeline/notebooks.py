"""Executing notebooks with parameters.

The cells run in this process: a process for a kernel takes longer to start.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import nbformat
import papermill
import yaml
from IPython.core.interactiveshell import ExecutionResult, InteractiveShell
from IPython.utils.capture import CapturedIO, capture_output
from jsonschema import ValidationError
from papermill.engines import Engine, NotebookExecutionManager, papermill_engines
from papermill.exceptions import PapermillExecutionError
from traitlets.config import Config

from ngo.common.files import writable_folder
from verdicts.registry import UserError, in_a_line, one_of


def execute(source: Path, out: Path, parameters: Iterable[str]) -> None:
    """Execute ``source`` with ``NAME=VALUE`` parameters, and save it as the notebook ``out``.

    Values are parsed as YAML. Raises a UserError for a parameter that the notebook does not have
    (papermill ignores it), and for a cell that fails; ``out`` then ends with the traceback.
    """
    logging.getLogger("papermill").setLevel(logging.WARNING)
    values = _values(source, parameters, _inspected(source))
    writable_folder(out.parent)
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    papermill_engines.register("here", InProcess)
    # Papermill formats paths: a brace in them is doubled.
    files = [str(path).replace("{", "{{").replace("}", "}}") for path in (source, out)]
    how = {"progress_bar": False, "engine_name": "here", "kernel_name": "python3"}
    try:
        papermill.execute_notebook(*files, values, **how)
    except PapermillExecutionError as error:
        fault = f"cell {error.exec_count} raised {error.ename}: {error.evalue}"
        advice = f"the executed notebook with its traceback is {out}"
        raise UserError(f"{source}: {fault}; {advice}.") from None


def _inspected(book: Path) -> Iterable[str]:
    """The names of a notebook's parameters."""
    try:
        with warnings.catch_warnings(action="ignore"):  # about a name that does not end in .ipynb
            return papermill.inspect_notebook(book)
    except (AttributeError, KeyError, ValueError, ValidationError) as error:
        raise UserError(f"{book}: this is not a notebook: {in_a_line(error)[:100]}") from None


def _values(source: Path, parameters: Iterable[str], known: Iterable[str]) -> dict[str, object]:
    """The values of ``NAME=VALUE`` parameters by name."""
    values = {}
    for parameter in parameters:
        name, equals, value = parameter.partition("=")
        if not equals:
            raise UserError(f"param: {parameter!r} must be NAME=VALUE")
        one_of(f"param of {source}", name, known)
        try:
            values[name] = yaml.safe_load(value)
        except (yaml.YAMLError, ValueError) as error:
            problem = " ".join(str(error).split())
            raise UserError(f"param: {parameter!r} is not valid YAML: {problem}") from None
    return values


class InProcess(Engine):
    """An engine of papermill: IPython runs the cells one after another; an error ends it."""

    @classmethod
    def execute_managed_notebook(
        cls, nb_man: NotebookExecutionManager, kernel_name: str, **options: Any
    ) -> None:
        """Run the cells of ``nb_man.nb``, and keep what they print, show and raise."""
        InteractiveShell.clear_instance()  # of a notebook before
        config = Config({"HistoryManager": {"enabled": False}})
        shell = InteractiveShell.instance(config=config)
        # The value of a cell is shown as what ``display`` shows. Errors are kept as outputs.
        shell.displayhook.write_output_prompt = lambda: None
        shell.displayhook.write_format_data = lambda *shown: shell.display_pub.publish(*shown)
        shell.showtraceback = shell.showsyntaxerror = lambda *given, **named: None
        for index, cell in enumerate(nb_man.nb.cells):
            nb_man.cell_start(cell, index)
            if cell.cell_type == "code":
                with capture_output() as captured:
                    result = shell.run_cell(cell.source, store_history=True)
                cell.execution_count = shell.execution_count - 1
                cell.outputs = _outputs(captured, result, shell)
                if not result.success:
                    nb_man.cell_exception(cell, index)
                    break
            nb_man.cell_complete(cell, index)


def _outputs(
    captured: CapturedIO, result: ExecutionResult, shell: InteractiveShell
) -> list[nbformat.NotebookNode]:
    new = nbformat.v4.new_output
    streams = {"stdout": captured.stdout, "stderr": captured.stderr}
    outputs = [new("stream", name=name, text=text) for name, text in streams.items() if text]
    outputs += [
        new("display_data", data=shown.data or {}, metadata=shown.metadata or {})
        for shown in captured.outputs
    ]
    if error := result.error_before_exec or result.error_in_exec:
        kind = type(error)
        lines = shell.InteractiveTB.structured_traceback(kind, error, error.__traceback__)
        facts = {"ename": kind.__name__, "evalue": str(error), "traceback": lines}
        outputs.append(new("error", **facts))
    return outputs
