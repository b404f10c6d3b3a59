"""The command ``ngo``: its commands by section, then those of measurements.

Commands are imported on first use, and their errors are one line each. Every command has the option
``--plugin FILE``, and the group itself.
"""

from __future__ import annotations

import importlib
import inspect
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, nullcontext, suppress
from datetime import UTC, datetime
from functools import cache
from itertools import chain, islice, takewhile
from pathlib import Path

import click

import ngo
from ngo.cli import LOG, configure_messages, options
from ngo.common import plugins
from ngo.common.devices import claimed
from ngo.common.fields import elsewhere, fields_of, usual
from ngo.measures.measurement import MEASUREMENTS, Measurement
from ngo.native.threads import quick_switching
from verdicts.registry import UserError

#: The sections of the help: commands, and their summaries.
SECTIONS = {
    "Run": {
        "train": "Train one run.",
        "runs": "List the runs of a config, and count their samples.",
        "fields": "List the fields of a run, and the choices that read them.",
        "methods": "List methods and other parts of a step, and which go together.",
        "data": "Verify the files of a data set, and download missing ones.",
        "describe": "Describe a file of arrays, so that configs can name it as a data set.",
        "partition": "Assign each training sample to a worker.",
    },
    "Archive": {
        "archive": "Pack the inputs of FIGURES as one verified archive.",
        "rebuild": "Make all tables and figures from a metrics ARCHIVE.",
        "restore": "Put the finished runs of an ARCHIVE back into results/runs.",
        "verify": "Check an ARCHIVE: its sums, its records, and runs and measurements of a draw.",
    },
    "Judge": {
        "reproduce": "Compare the numbers that PAPER prints with ours: is this a reproduction?",
        "candidates": "Say which choices of what PAPER leaves open could have printed its table.",
    },
}

#: The modules of commands in this folder; the pipeline calls those that are not in the help.
MODULES = {
    "train": "train_command",
    **dict.fromkeys(("fields", "methods"), "list_commands"),
    **dict.fromkeys(("data", "describe", "partition"), "data_commands"),
    **dict.fromkeys(SECTIONS["Archive"], "archive_commands"),
    **dict.fromkeys(SECTIONS["Judge"], "paper_commands"),
    **dict.fromkeys(("runs", "aggregate", "classes", "notebook"), "pipeline_commands"),
    **dict.fromkeys(("assumptions", "report"), "pipeline_commands"),
}

FLAG, KEY = "--plugin", "plugin"


PLUGIN = click.Option(
    [FLAG],
    multiple=True,
    type=click.Path(),  # for the shell: it completes files
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=lambda context, option, files: plugins.load(files, KEY),
    help="Python file with topologies, methods, … to add  [may be repeated]",
)


def plugin_files(words: Iterable[str]) -> Iterator[str]:
    """The files that the command line ``words`` name as plugins."""
    words = takewhile("--".__ne__, words)
    for word in words:
        if word == FLAG:
            yield from islice(words, 1)
        elif word.startswith(f"{FLAG}="):
            yield word.partition("=")[2]


def measurements() -> dict[str, click.Command]:
    """The command of each measurement, those of plugins included, by its name."""
    return {name: _command(entry) for name, entry in MEASUREMENTS.items()}


@cache
def _command(entry: Measurement) -> click.Command:
    def measure(out: Path, **values: object) -> None:
        started = datetime.now(UTC)
        chosen = entry.options(**{name: values.pop(name) for name in known})
        with ExitStack() as held:
            if "device" in values:
                given = {name: values.pop(name) for name in entry.run_fields}
                values["make_run"] = lambda **more: options.spec_of_options({**given, **more})
                values["device"] = held.enter_context(claimed(values["device"]))
            table = entry.table(chosen, **values)
        from ngo.analysis.table_files import write

        write(table, out, started)
        click.echo(f"{len(table):,} rows → {out}")

    known = fields_of(entry.options)
    params = [options.run_option(name) for name in entry.run_fields]
    for name, field in known.items():
        given = {"default": field.default, "multiple": field.many}
        params.append(options.FieldOption(name, field, **given))
    added = []
    if entry.on_models:
        models = click.argument("models", nargs=-1, required=True, type=options.INPUT)
        added = [models, options.data_root_option]
    elif entry.run_fields:
        added = [options.device_option, options.data_root_option]
    for option in (options.table_option, *reversed(added)):
        measure = option(measure)
    return click.command(entry.name, params=params, help=inspect.getdoc(entry.measure))(measure)


#: Before a paragraph of a help text: click keeps its lines.
KEEP = "\b\n"


class Commands(click.Group):
    """The commands of ``SECTIONS``, imported on first use, and those of measurements."""

    def list_commands(self, context: click.Context | None = None) -> list[str]:
        """The names of those in the help."""
        return [*chain(*SECTIONS.values()), *measurements()]

    def get_command(self, context: click.Context | None, name: str) -> click.Command | None:
        """The command with this name, which has the option for plugins; None if there is none."""
        if name in MODULES:
            command = getattr(importlib.import_module(f"ngo.cli.{MODULES[name]}"), name)
        else:
            command = measurements().get(name)
        if command is not None:
            if PLUGIN not in command.params:
                command.params.append(PLUGIN)
            _keep_lines(command)
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a line for each command, by section."""
        measured = {n: c.get_short_help_str(limit=80) for n, c in measurements().items()}
        for title, summaries in {**SECTIONS, "Measure": measured}.items():
            with formatter.section(title):
                formatter.write_dl(list(summaries.items()))

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, after loading the plugins that it names: one may define it."""
        completing = context.resilient_parsing  # then, mistakes are silent
        with suppress(UserError) if completing else nullcontext():
            plugins.load(plugin_files(arguments[1:]), key=KEY)
        self.commands = dict.fromkeys(self.list_commands())  # among which click suggests one
        return super().resolve_command(context, arguments)

    def make_context(self, *arguments: object, **named: object) -> click.Context:
        """Parse the group's own options. The messages of ``ngo`` are printed from now on."""
        configure_messages()
        return _in_one_line(super().make_context, *arguments, **named)

    def invoke(self, context: click.Context) -> object:
        """Run a command, after parsing its options."""
        return _in_one_line(super().invoke, context)


def _keep_lines(command: click.Command) -> None:
    """Have click keep the lines of paragraphs that have indented ones: examples."""
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    command.help = "\n\n".join(
        f"{KEEP}{text}" if "\n  " in text and not text.startswith(KEEP) else text
        for text in paragraphs
    )


# What the extra ``pipeline`` installs, as it is imported.
PIPELINE = {
    "docutils", "ipykernel", "jinja2", "jsonschema", "markupsafe", "matplotlib", "nbformat",
    "papermill", "pygments", "pylatexenc", "seaborn", "snakemake",
}  # fmt: skip

# What torch and Python say when the system refuses more memory or threads.
_OUT_OF_MEMORY = ("can't allocate memory", "CUDA out of memory", "can't start new thread")


def _without_usual_word(error: click.UsageError) -> str:
    """The message for a usual word of the field as an option: ours; empty for another error."""
    if not isinstance(error, click.NoSuchOption) or error.ctx is None:
        return ""
    options = {option.name: option.opts[0] for option in error.ctx.command.get_params(error.ctx)}
    words = usual(error.option_name.lstrip("-"), options)
    close = " or ".join(repr(options[option]) for option in words)
    hint = f" Did you mean {close}?" if close else elsewhere(error.option_name.lstrip("-"))
    return hint and f"{error.message}{hint}"


def _in_one_line(work: Callable, *arguments: object, **named: object) -> object:
    """The result of ``work``. A user's mistake and a signal end the process with a line.

    The exit code is 2, or that of the signal; line breaks inside the line become spaces.
    """
    code = 2
    try:
        return work(*arguments, **named)
    except click.exceptions.NoArgsIsHelpError:
        raise
    except KeyboardInterrupt as stopped:  # a Stopped has the number of its signal
        line, code = str(stopped) or "interrupted", 128 + getattr(stopped, "number", signal.SIGINT)
    except UserError as error:
        line = str(error)
    except click.UsageError as error:
        text = _without_usual_word(error) or error.format_message()
        end = "" if text.endswith((".", "?", ")")) else "."
        line = f"{text}{end}" + (f" See {error.ctx.command_path} --help." if error.ctx else "")
    except ModuleNotFoundError as error:
        if (name := str(error.name).partition(".")[0]) not in PIPELINE:
            raise
        line = f"{name} is not installed; it is in the extra 'pipeline' of this package"
    except (MemoryError, RuntimeError) as error:
        known = any(text in str(error) for text in _OUT_OF_MEMORY)
        if not (known or isinstance(error, MemoryError)):
            raise
        line = f"out of memory; use fewer workers or threads: {error}"
    LOG.error("ngo: %s", " ".join(line.split()))
    sys.exit(code)


HELP = {"help_option_names": ["-h", "--help"]}


@click.group(cls=Commands, params=[PLUGIN], context_settings=HELP)
@click.version_option(ngo.__version__)
def main() -> None:
    r"""Nonlinear gossiping for decentralized optimization.

    Each of n workers takes an SGD step on its own data, then moves towards its neighbours:
    x_i += γ Σ_j W_ij φ_p(x_j − x_i), φ_p(z) = sign(z)|z|^(2p−1).

    Train one run, with no data to download:
      ngo train --dataset digits --method ngo --p 0.9 --gamma 0.3 \
        --batch-size 16 --epochs 20 --out out/
    Compare with decentralized SGD, on the same partition, batches and initial
    parameters:
      ngo train --dataset digits --method dsgd --batch-size 16 \
        --epochs 20 --out out2/
    List the runs that a config would train:
      ngo runs --config config/config.yaml --config config/demo.yaml
    Make a table of the paper from bundled data, in the repository's folder:
      snakemake table1 --cores all --configfile config/demo.yaml

    COMMAND --help explains each command. Let bash complete commands, options and
    names of methods, graphs, … (for zsh and fish, see docs/start.md):
      eval "$(_NGO_COMPLETE=bash_source ngo)"
    """
    quick_switching()


_keep_lines(main)
