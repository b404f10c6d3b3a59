"""Executing a notebook's cells in this process: a process for a kernel takes longer to start."""

from __future__ import annotations

from typing import Any

import nbformat
from IPython.core.displayhook import DisplayHook
from IPython.core.interactiveshell import ExecutionResult, InteractiveShell
from IPython.utils.capture import CapturedIO, capture_output
from papermill.engines import Engine, NotebookExecutionManager
from traitlets import Type
from traitlets.config import Config


class Shown(DisplayHook):
    """The value of a cell is shown as what ``display`` shows, and not printed."""

    def write_output_prompt(self) -> None:
        """There is none."""

    def write_format_data(self, format_dict: dict, md_dict: dict | None = None) -> None:
        """Show the value."""
        self.shell.display_pub.publish(format_dict, md_dict)


class Shell(InteractiveShell):
    """A shell that shows values, and leaves errors to be kept as outputs."""

    displayhook_class = Type(Shown)

    def showtraceback(self, *given: Any, **named: Any) -> None:
        """Print nothing."""

    def showsyntaxerror(self, *given: Any, **named: Any) -> None:
        """Print nothing."""


class InProcess(Engine):
    """An engine of papermill: IPython runs the cells one after another; an error ends it."""

    @classmethod
    def execute_managed_notebook(
        cls, nb_man: NotebookExecutionManager, kernel_name: str, **options: Any
    ) -> None:
        """Run the cells of ``nb_man.nb``, and keep what they print, show and raise."""
        Shell.clear_instance()  # of a notebook before
        shell = Shell.instance(config=Config({"HistoryManager": {"enabled": False}}))
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
    streams = {"stdout": captured.stdout, "stderr": captured.stderr}
    found = [
        nbformat.v4.new_output("stream", name=name, text=text)
        for name, text in streams.items()
        if text
    ]
    found += [
        nbformat.v4.new_output("display_data", data=each.data or {}, metadata=each.metadata or {})
        for each in captured.outputs
    ]
    if error := result.error_before_exec or result.error_in_exec:
        kind = type(error)
        lines = shell.InteractiveTB.structured_traceback(kind, error, error.__traceback__)
        found.append(
            nbformat.v4.new_output("error", ename=kind.__name__, evalue=str(error), traceback=lines)
        )
    return found
