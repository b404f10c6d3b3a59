import json

import torch

from ngo.bench.costs import Bench, Target
from ngo.training.record import processor


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
