"""Commands of measurements, those of the package and one of a plugin."""

import math
import sys
from datetime import UTC, datetime

import pandas as pd
import pytest
from cases import mistake_of
from click.testing import CliRunner

from ngo.analysis.table_files import started
from ngo.cli.cli import measurements
from ngo.cli.options import FieldType
from ngo.common import plugins
from ngo.common.fields import checked, fields_of
from ngo.measures.measurement import MEASUREMENTS
from verdicts.registry import UserError

FIELDS = {kind: fields_of(entry.options) for kind, entry in sorted(MEASUREMENTS.items())}
OPTIONS = [(kind, name) for kind, fields in FIELDS.items() for name in fields]

PLUGIN = '''\
"""How many edges each topology has."""

from dataclasses import dataclass

from ngo.common.fields import choice, whole, within
from verdicts.registry import UserError
from ngo.gossip.topology import TOPOLOGIES
from ngo.measures.measurement import measurement


@dataclass(frozen=True)
class EdgeOptions:
    topology: tuple[str, ...] = choice("topology", ("ring",), TOPOLOGIES)
    workers: int = whole("number of workers n", 8, within(2, 100))

    def __post_init__(self):
        if self.workers == 13:
            raise UserError("workers: 13 is bad luck.")


@measurement("edges", EdgeOptions)
def edge_table(options):
    """Count the edges of topologies."""
    import pandas as pd

    n = options.workers
    counts = [len(TOPOLOGIES[name].edges(n)) for name in options.topology]
    return pd.DataFrame({"topology": options.topology, "n": n, "edges": counts})
'''


@pytest.fixture
def edges(tmp_path):
    """The measurement of a plugin file; it is forgotten after the test."""
    path = tmp_path / "edges.py"
    path.write_text(PLUGIN)
    plugins.load([path])
    yield MEASUREMENTS["edges"]
    del MEASUREMENTS["edges"], MEASUREMENTS.definitions["edges"]
    del plugins._loaded["ngo_plugin_edges"], sys.modules["ngo_plugin_edges"]


def run(kind, *arguments):
    return CliRunner().invoke(measurements()[kind], [str(a) for a in arguments])


def entry_of(kind):
    """A config's entry with all defaults."""
    found = {
        name: list(field.default) if field.many else field.default
        for name, field in fields_of(MEASUREMENTS[kind].options).items()
    }
    return {"setting": "any", **found} if MEASUREMENTS[kind].run_fields else found


@pytest.mark.parametrize(("kind", "name"), OPTIONS)
def test_a_command_and_its_config_refuse_the_same_in_the_same_words(kind, name):
    field = fields_of(MEASUREMENTS[kind].options)[name]
    (option,) = (param for param in measurements()[kind].params if param.name == name)
    assert isinstance(option.type, FieldType)
    assert option.type.field is field
    assert option.multiple == field.many
    for wrong in ("nosuch",) if field.names else (field.kind(-1), math.nan, -math.inf):
        told = mistake_of(checked, name, wrong, field)
        result = run(kind, f"{option.opts[0]}={wrong}")
        assert isinstance(result.exception, UserError)
        assert str(result.exception) == told
        given = [wrong] if field.many else wrong
        again = mistake_of(MEASUREMENTS[kind].read, "entry", {**entry_of(kind), name: given})
        key = f"entry.{name}[0]" if field.many else f"entry.{name}"
        assert again == key + told.removeprefix(name)


def test_a_plugin_measurement_has_a_command(edges, tmp_path):
    out = tmp_path / "e.parquet"
    before = datetime.now(UTC).replace(microsecond=0)
    graphs = ["--topology", "ring", "--topology", "complete"]
    result = run("edges", *graphs, "--workers", 5, "--out", out)
    assert result.exit_code == 0, result.exception
    assert pd.read_parquet(out)["edges"].tolist() == [5, 10]
    assert result.output == f"2 rows → {out}\n"
    assert datetime.fromisoformat(started(out)) >= before
    help = run("edges", "--help").output
    assert "Count the edges of topologies." in help
    assert "Number of workers n (2 to 100)  [default: 8]" in help
    assert str(run("edges", "--workers", 13, "--out", out).exception) == "workers: 13 is bad luck."
