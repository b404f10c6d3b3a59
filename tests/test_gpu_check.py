"""The check of a card, on the CPU."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_every_part_of_the_check_runs_and_is_written(tmp_path):
    command = [sys.executable, ROOT / "benchmarks/gpu_check.py", "--device", "cpu", "--quick"]
    done = subprocess.run(
        [*command, "--out", tmp_path], timeout=240, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    parts = json.loads((tmp_path / "gpu_check.json").read_text())
    assert list(parts) == ["machine", "limits", "kernels", "equality", "entries", "speed"]
    assert not any("error" in row for part in parts.values() for row in part["rows"])
    assert parts["equality"]["rows"][0]["consensus_loss: device − CPU"] == 0  # the same device
    assert "| mnist_cnn | plain PyTorch, one model |" in (tmp_path / "gpu_check.md").read_text()
