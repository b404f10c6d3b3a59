import json
from pathlib import Path

import torch

from ngo.bench.costs import Bench, Target, processor


def test_met_and_missed_targets_are_both_reported():
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
    assert found["machine"]["processor"] == processor()


def test_the_processors_model_is_named():
    name = processor()
    assert name
    cpuinfo = Path("/proc/cpuinfo")
    text = cpuinfo.read_text() if cpuinfo.exists() else ""
    assert "model name" not in text or f"model name\t: {name}\n" in text
