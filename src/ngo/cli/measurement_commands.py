"""``ngo consensus``, ``spectra``, ``alignment``, …: a command for each registered measurement."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import click

from ngo.cli import options
from ngo.common.devices import chosen, claimed
from ngo.common.fields import fields_of
from ngo.data import download
from ngo.measures.measurement import MEASUREMENTS, Measurement


def commands() -> dict[str, click.Command]:
    """The command of each measurement, those of plugins included."""
    return {name: _command(entry) for name, entry in MEASUREMENTS.items()}


@cache
def _command(entry: Measurement) -> click.Command:
    def measure(out: Path, **values: object) -> None:
        started = datetime.now(UTC)
        chosen = entry.options(**{name: values.pop(name) for name in known})
        with _inputs(entry, values) as inputs:
            table = entry.measure(chosen, **inputs)
        from ngo.analysis.table_files import write

        write(table, out, started)
        click.echo(f"{len(table):,} rows → {out}")

    measure.__doc__ = entry.help
    known = fields_of(entry.options)
    command = options.table_option(measure)
    if entry.on_models or entry.run_fields:
        command = options.data_root_option(command)
    if entry.run_fields:
        command = options.device_option(command)
    command = options.measurement_fields(known)(command)
    if entry.run_fields:
        command = options.run_fields(*entry.run_fields)(command)
    if entry.on_models:
        command = click.argument("models", nargs=-1, required=True, type=options.INPUT)(command)
    return click.command(entry.name)(command)


@contextmanager
def _inputs(entry: Measurement, values: dict[str, object]) -> Iterator[dict[str, object]]:
    """The arguments of ``entry.measure`` after the options; the device is in use meanwhile."""
    if entry.on_models:
        root = download.data_root(values["data_root"])
        yield {"models": values["models"], "data_root": root}
    elif entry.run_fields:
        given = {name: values[name] for name in entry.run_fields}
        root = download.data_root(values["data_root"])
        chosen(values["device"])

        def make_run(**more: object) -> object:
            return options.spec_of_options({**given, **more})

        with claimed(values["device"]) as device:
            yield {"make_run": make_run, "data_root": root, "device": device}
    else:
        yield {}
