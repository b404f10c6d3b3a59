"""Former names of a run's fields are read in all that a user writes and keeps."""

import json
import logging
import shutil

import pytest
import torch
import yaml
from click.testing import CliRunner
from conftest import REPOSITORY
from runs import run_in, tiny

from ngo.cli import cli
from ngo.common import former
from ngo.common.columns import read_columns, write_columns
from ngo.common.former import read_claims, renamed, renamed_throughout
from ngo.pipeline.config import read_config
from ngo.pipeline.plan import plan
from ngo.training.earlier import METRICS, RECORD
from ngo.training.fit import fit
from ngo.training.resolve import resolve
from ngo.training.snapshots import load_snapshots, save_snapshots
from ngo.training.spec import RunSpec

OLD = {"protocol": "gossip", "topology": "ring"}


@pytest.fixture
def told(caplog, monkeypatch):
    """The lines that tell of former names."""
    monkeypatch.setattr(former, "_told", set())
    monkeypatch.setattr(logging.getLogger("ngo"), "propagate", True)

    def lines():
        return [line for line in caplog.messages if "former name" in line]

    return lines


def test_keys_are_renamed_and_told_of_once(told):
    assert renamed(OLD, "here") == {"method": "gossip", "topology": "ring"}
    assert renamed(OLD, "here") == renamed(OLD)
    assert told() == ["note: here: 'protocol' is a former name; it is 'method' now"]
    assert renamed({"method": "ngo", **OLD})["method"] == "gossip"  # an overlay's, which is later


def test_names_in_texts_are_renamed_where_they_stand_alone():
    values = {"over": ["protocol", "u"], "a-{protocol}": "{protocol.x} of a protocol", 1: None}
    found = {"over": ["method", "u"], "a-{method}": "{method.x} of a protocol", 1: None}
    assert renamed_throughout(values, "here") == found


def test_a_config_is_planned_as_before(told):
    paths = [REPOSITORY / "config/config.yaml", REPOSITORY / "config/demo.yaml"]
    config = read_config(paths)
    wanted = plan(config)
    old = yaml.safe_load(yaml.safe_dump(config).replace("method:", "protocol:"))
    old["defaults"]["protocol"] = "ngo"
    assert old != config
    found = plan(old)
    assert found.runs == wanted.runs
    assert found.measures == wanted.measures
    assert told() == ["note: config: 'protocol' is a former name; it is 'method' now"]


def test_claims_are_those_under_the_present_name(tmp_path, told):
    path = REPOSITORY / "config/reference/claims.yaml"
    old = path.read_text(encoding="utf-8").replace("method", "protocol")
    former = shutil.copytree(path.parent, tmp_path / "former") / "claims.yaml"
    former.write_text(old, encoding="utf-8")
    wanted, found = read_claims(path).claims, read_claims(former).claims
    for name, claim in wanted.items():
        assert (found[name].where, found[name].arguments) == (claim.where, claim.arguments)
        assert found[name].cells == claim.cells
    assert len(told()) == 1


def test_commands_take_the_former_option(tmp_path, told):
    small = ["--dataset", "least_squares", "--workers", "3", "--epochs", "0.01", "--device", "cpu"]
    for option in (["--protocol", "gossip"], ["--protocol=gossip"]):
        out = str(tmp_path / option[0])
        answer = CliRunner().invoke(cli.main, ["train", *small, *option, "--out", out])
        assert answer.exit_code == 0, answer.output
        assert json.loads((tmp_path / option[0] / RECORD).read_text())["spec"]["method"] == "gossip"
    assert told() == ["note: command line: 'protocol' is a former name; it is 'method' now"]
    wrong = CliRunner().invoke(cli.main, ["train", "--protocol", "gosip", "--out", "x"])
    assert "method: 'gosip' is unknown" in wrong.output


def test_fit_takes_the_former_argument(told):
    data = (torch.zeros(8, 2), torch.zeros(8, 1))
    run = fit(torch.nn.Linear(2, 1), data, data, protocol="dsgd", workers=2, batch_size=1,
              epochs=1, progress=False)  # fmt: skip
    assert run.spec.method == "dsgd"
    assert len(told()) == 1


def test_a_finished_run_is_known(tmp_path):
    """A run of the former name is not trained again, and its metrics have the present one."""
    spec = tiny(method="gossip")
    run_in(spec, tmp_path)
    text = (tmp_path / RECORD).read_text()
    (tmp_path / RECORD).write_text(text.replace('"method"', '"protocol"'))
    columns, facts = read_columns(tmp_path / METRICS, "metrics")
    former_facts = {{"method": "protocol"}.get(name, name): each for name, each in facts.items()}
    write_columns(tmp_path / METRICS, columns, former_facts)
    assert "already finished" in " ".join(run_in(spec, tmp_path))
    assert read_columns(tmp_path / METRICS, "metrics")[1] == facts


def test_snapshots_are_read(tmp_path, monkeypatch):
    spec = resolve({"workers": 2})
    old = {{"method": "protocol"}.get(name, name): each for name, each in spec.values().items()}
    with monkeypatch.context() as patch:
        patch.setattr(RunSpec, "values", lambda self: old)
        save_snapshots(tmp_path / "models.pt", spec, {})
    assert load_snapshots(tmp_path / "models.pt")[0] == spec


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ({"method": "ngo", "gamma": 0.1, "p": 0.9}, "mnist-iid-ring-ngo-p0.9-s0-5d332fd0"),
        (
            {"method": "gossip", "gamma": 1.0, "topology": "random"},
            "mnist-iid-random-gossip-s0-05481435",
        ),
        ({"method": "centralized", "lr": 0.2}, "mnist-iid-centralized-s0-b05ee806"),
    ],
)
def test_ids_are_those_of_the_former_name(values, wanted):
    assert resolve(values).id == wanted
