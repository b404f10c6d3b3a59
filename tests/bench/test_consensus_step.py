import json
from functools import partial

import pytest
import torch
from click.testing import CliRunner

from ngo.bench import consensus_step
from ngo.bench.costs import Bench, Target
from ngo.bench.turns import Turns
from ngo.cli.cli import main
from ngo.common.seeding import torch_stream
from ngo.gossip.gossip_step import gossip_step


@pytest.mark.parametrize("way", consensus_step.WAYS)
def test_every_way_takes_a_step_on_the_state(way):
    assert consensus_step.consensus(way, topology="ring", n=3, d=10, device="cpu")() == 0


def test_the_naive_form_is_slower_than_a_copy():
    taken = consensus_step.turns(
        {
            way: partial(consensus_step.consensus, way, topology="ring", n=3, d=1000, device="cpu")
            for way in (consensus_step.COPY, consensus_step.NAIVE)
        },
        1,
        "ring",
        least=0.01,
    )
    assert 0 < taken.seconds("copy") < taken.seconds("naive")  # 6 edges with a power each


@pytest.mark.parametrize(
    ("case", "device", "targets"),
    [
        (("ring", 10, 21_840), "cpu", {"linear of a matrix product's"}),
        (("complete", 4, 100), "cpu", {"linear of a matrix product's", "faster than naive"}),
        (("ring", 10, 11_279_112), "cuda", {"of a copy's speed"}),
        (("ring", 10, 100), "cuda", set()),
    ],
)
def test_targets_depend_on_the_case(case, device, targets, monkeypatch):
    def turns(ways, repeats, name, *, device):
        return Turns({way: [(0.4 if way == "naive" else 0.1, 0.0)] for way in ways})

    monkeypatch.setattr(consensus_step, "turns", turns)
    (found,) = consensus_step.gossip([case], device, 1)
    assert {target.name.partition(": ")[2] for target in found.targets} == targets
    rows = {row["way"]: row for row in found.rows}
    assert rows["nonlinear"]["faster_than_naive"] == pytest.approx(4)
    assert rows["naive"]["of_a_copy"] == pytest.approx(4)


@pytest.mark.parametrize("as_json", [False, True])
def test_an_interrupted_bench_prints_what_it_has_measured(monkeypatch, as_json):
    def interrupted(**_):
        yield Bench([{"way": "copy", "ms": 1.5}], [Target("share", 0.03, 0.04)])
        raise KeyboardInterrupt

    monkeypatch.setattr(consensus_step, "gossip", interrupted)
    done = CliRunner().invoke(main, ["bench", "gossip", *["--json"][: int(as_json)]])
    assert done.exit_code == 130
    assert "interrupted" in done.stderr
    if as_json:
        assert json.loads(done.stdout)["rows"] == [{"way": "copy", "ms": 1.5}]
    else:
        assert "met    share: 0.03" in done.stdout


def test_the_naive_form_equals_the_compiled_step():
    X = torch.randn(3, 50, generator=torch_stream(0, "X"))
    W = torch.tensor([[0.6, 0.3, 0.1], [0.3, 0.7, 0.0], [0.1, 0.0, 0.9]], dtype=torch.float64)
    weights = {(0, 1): 0.3, (1, 0): 0.3, (0, 2): 0.1, (2, 0): 0.1}
    expected = gossip_step(X, W, consensus_step.GAMMA, consensus_step.P)
    assert torch.allclose(consensus_step.naive_step(X, weights), expected, atol=1e-6)
