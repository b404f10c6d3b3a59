"""The example loggers: TensorBoard's with a real file, the others with stand-ins of the modules."""

import importlib.util
import struct
import sys
from types import ModuleType, SimpleNamespace

import pytest
from cases import cases
from conftest import REPOSITORY
from own_modules import quick

EVALUATED = [0, 2, 4]


def logger(name, function):
    path = REPOSITORY / f"examples/loggers/{name}.py"
    spec = importlib.util.spec_from_file_location(f"logger_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, function)


def events(path):
    """The records of an event file: a length, its checksum, the record, its checksum."""
    data, start = path.read_bytes(), 0
    while start < len(data):
        (size,) = struct.unpack_from("<Q", data, start)
        yield data[start + 12 : start + 12 + size]
        start += size + 16


def test_tensorboards_event_file_has_the_metrics(tmp_path):
    event_pb2 = pytest.importorskip("tensorboardX.proto.event_pb2")
    run = quick(on_evaluation=logger("tensorboard", "tensorboard")(tmp_path))
    (path,) = tmp_path.iterdir()
    found = [
        (event.step, value.tag, value.simple_value)
        for event in map(event_pb2.Event.FromString, events(path))
        for value in event.summary.value
    ]
    for name in ("V", "consensus_accuracy", "consensus_loss"):
        scalars = [(step, value) for step, tag, value in found if tag == name]
        assert [step for step, _ in scalars] == EVALUATED
        assert [value for _, value in scalars] == pytest.approx(run.metrics[name].tolist())


@pytest.fixture
def stand_in(monkeypatch):
    """A module of a given name whose functions note their arguments."""

    def make(name, *functions):
        calls, module = [], ModuleType(name)
        for each in functions:

            def noted(*given, each=each, **named):
                calls.append((each, given, named))

            setattr(module, each, noted)
        monkeypatch.setitem(sys.modules, name, module)
        return calls

    return make


@cases(
    "name, functions, arguments, first",
    ("mlflow", ("log_params", "log_metrics"), (), ({"method": "ngo"},)),
    ("trackio", ("init", "log"), ("gossip",), ()),
)
def test_mlflow_and_trackio_get_finite_metrics(stand_in, name, functions, arguments, first):
    calls = stand_in(name, *functions)
    run = quick(on_evaluation=logger(name, f"{name}_logger")(*arguments, method="ngo"))
    named = {} if first else {"project": "gossip", "config": {"method": "ngo"}}
    assert calls[0] == (functions[0], first, named)
    assert [named["step"] for _, _, named in calls[1:]] == EVALUATED
    assert [given[0]["V"] for _, given, _ in calls[1:]] == run.metrics["V"].tolist()


def test_wandb_gets_steps_and_evaluations():
    rows = []
    log = logger("wandb", "wandb_logger")(SimpleNamespace(log=rows.append))
    run = quick(on_evaluation=log, on_step=log)
    assert [row["step"] for row in rows] == [0, 1, 2, 2, 3, 4, 4]
    assert [row["V"] for row in rows if "V" in row] == run.metrics["V"].tolist()
    assert sum("step_loss" in row for row in rows) == 4
