import json
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

from ngo import bench
from ngo.bench import Bench, Target
from ngo.cli import main
from ngo.registry import UserError


def test_a_target_is_met_or_missed_and_both_are_told():
    met, missed = Target("share", 0.03, 0.04), Target("faster", 1.9, 2.5, at_least=True)
    assert met.met
    assert not missed.met
    result = Bench([{"way": "copy", "ms": 1.5}], [met, missed])
    text = result.as_text()
    assert "met    share: 0.03 (≤ 0.04)" in text
    assert "MISSED faster: 1.9 (≥ 2.5)" in text
    found = json.loads(result.as_json())
    assert [target["met"] for target in found["targets"]] == [True, False]
    assert found["rows"] == result.rows
    assert found["machine"]["torch"] == torch.__version__
    assert found["machine"]["processor"] == bench._processor()


def test_the_processors_model_is_named():
    name = bench._processor()
    assert name
    cpuinfo = Path("/proc/cpuinfo")
    told = cpuinfo.read_text() if cpuinfo.exists() else ""
    assert "model name" not in told or f"model name\t: {name}\n" in told


def test_ways_take_turns_in_processes_of_their_own(capsys):
    case = {"topology": "ring", "n": 3, "d": 1000, "device": "cpu"}
    taken = bench.turns({way: (way, case) for way in ("copy", "naive")}, 3, "ring", least=0.01)
    assert 0 < taken.seconds("copy") < taken.seconds("naive")  # 6 edges, with a power for each
    assert taken.ratio("naive", "copy") > 1
    assert taken.share("copy") == 0
    told = capsys.readouterr()
    assert told.out == ""
    starts = ["ring: start of copy", "ring: start of naive"]
    assert told.err.splitlines() == starts + [f"ring: turn {k} of 3" for k in (1, 2, 3)]


def test_ratios_and_shares_are_medians_of_the_rounds_own():
    taken = bench.Turns({"a": [(1, 0.1), (4, 2), (30, 9)], "b": [(2, 0), (2, 0), (10, 0)]})
    assert taken.seconds("a") == 4
    assert taken.ratio("a", "b") == 2  # of 0.5, 2, 3
    assert taken.ratio("b", "a") == 0.5
    assert taken.share("a") == 0.3  # of 0.1, 0.5, 0.3


def test_a_way_that_fails_is_named():
    with pytest.raises(UserError, match="bench: 'loop, ring' failed"):
        bench.turns({"loop, ring": ("loop, ring", {"model": "none"})}, 1, "none")


def test_plain_networks_are_torchs_and_of_the_same_size():
    from ngo.layers import ConvPoolReLU2d
    from ngo.models import MODELS
    from ngo.seeding import torch_stream

    for name in ("mnist_cnn", "cifar10_cnn", "resnet18"):
        plain = bench._plain(name, "cpu")
        assert not any(isinstance(module, ConvPoolReLU2d) for module in plain.modules())
        own = MODELS[name].build(torch_stream(0, "x"))
        count = [sum(p.numel() for p in module.parameters()) for module in (plain, own)]
        assert count[0] == count[1]


def test_one_model_in_turn_and_backends_do_the_same_work():
    """The step of each way moves parameters, and the backends' pulls are NGO's."""
    case = {"model": "mnist_fc", "n": 2, "b": 3, "device": "cpu"}
    for way in (bench.ONE_MODEL, bench.IN_TURN):
        assert bench.WAYS[way](**case)() == 0
    assert bench.WAYS["loop, ring"](**case)() > 0


def test_without_a_wish_only_cases_with_a_limit_are_measured(monkeypatch):
    measured = []
    monkeypatch.setattr(bench, "engine", lambda cases, *_: measured.append(list(cases)) or [])
    for name in ("growth", "run_overhead"):
        monkeypatch.setattr(bench, name, lambda *_: Bench([], []))
    for wish in ([], ["--all"], ["--workers", "4"], ["--model", "resnet18"], ["--workers", "5"]):
        assert CliRunner().invoke(main, ["bench", "engine", *wish]).exit_code == 0
    usual, everything, four, resnet, five = measured
    assert usual == list(bench.LIMITS)
    assert set(usual) < set(everything)
    assert everything == list(bench.CASES)
    assert four == [("mnist_cnn", 4, 32), ("resnet18", 4, 8)]
    assert resnet == [("resnet18", 4, 8)]
    assert five == [("mnist_cnn", 5, 32)]


@pytest.mark.parametrize("as_json", [False, True])
def test_an_interrupted_bench_prints_what_is_there(monkeypatch, as_json):
    def interrupted(**_):
        yield Bench([{"way": "copy", "ms": 1.5}], [Target("share", 0.03, 0.04)])
        raise KeyboardInterrupt

    monkeypatch.setattr(bench, "gossip", interrupted)
    done = CliRunner().invoke(main, ["bench", "gossip", *["--json"][: int(as_json)]])
    assert done.exit_code == 130
    assert "interrupted" in done.stderr
    if as_json:
        assert json.loads(done.stdout)["rows"] == [{"way": "copy", "ms": 1.5}]
    else:
        assert "met    share: 0.03" in done.stdout


def test_the_workflow_is_measured_in_its_folder_only(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="workflow: there is no Snakefile here"):
        bench.workflow()
