"""Logs of other tools become tables that the judge reads; what is wrong ends in one line."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import verdicts
from verdicts.cli import main
from verdicts.importers import FORMATS, import_logs

WANDB = """\
"Step","A-s0 - val/acc","A-s0 - val/acc__MIN","A-s0 - val/acc__MAX","B-s0 - val/acc"
"0","0.1","0.1","0.1","0.2"
"10","0.5","0.5","0.5",""
"20","","","","0.7"
"""


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str | bytes) else json.dumps(content)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def imported(path, format, *more, **options):
    table, _ = import_logs([Path(path)], format, *more, **options)
    return table


def ends(table, column):
    return table.groupby("run")[column].last().tolist()


def test_wandb(tmp_path):
    file = write(tmp_path / "chart.csv", WANDB)
    table, preview = import_logs([file], "wandb", "{method}-s{seed}")
    assert list(table) == ["run", "method", "seed", "step", "val/acc"]
    assert table["val/acc"].tolist() == [0.1, 0.5, 0.2, 0.7]
    assert table["step"].tolist() == [0, 10, 0, 20]
    assert "2 runs, 4 rows, 0 notes" in preview


def test_what_is_written_is_judged_and_compared(tmp_path, capsys):
    stream, runs = np.random.default_rng(0), {}
    for method, seeds in {"A": 5, "B": 7}.items():
        for k in range(seeds):
            name = f"{method}-{'x' * (k + 1)} - val_loss"
            runs[name] = [2, (1 if method == "A" else 0.5) + 0.1 * stream.normal()]
    runs["A-diverged - val_loss"] = [2, np.nan]
    chart = pd.DataFrame({"Step": [0, 100], **runs})
    chart.to_csv(tmp_path / "chart.csv", index=False, na_rep="NaN")
    given = ["import", str(tmp_path / "chart.csv"), "--as", "wandb", "--pattern", "{method}-*"]
    assert main([*given, "--out", str(tmp_path / "runs.csv")]) == 0
    assert "A-diverged" in capsys.readouterr().out
    claim = """{place: here, says: B has a lower loss, kind: order, from: runs, below: 0,
      quantity: difference, with: {of: {method: B}, minus: {method: A}, value: val_loss}}"""
    write(tmp_path / "claims.yaml", f"claims: {{lower: {claim}}}")
    (row,) = verdicts.check(tmp_path / "claims.yaml", tmp_path)
    assert (row.verdict, row.pairs, row.infinite) == ("holds", 6, 1)
    assert main([*given, "--out", str(tmp_path / "chart.csv")]) == 2  # over what is read
    given = ["compare", str(tmp_path / "runs.csv"), "--by", "method", "--metric", "val_loss"]
    assert main(given) == 0
    assert "best: B." in capsys.readouterr().out


def test_tensorboard(tmp_path):
    tensorboardX = pytest.importorskip("tensorboardX")
    for seed in (1, 2):
        for restart in (0, 1):
            folder, end = str(tmp_path / f"A/seed{seed}"), f".{restart}"
            with tensorboardX.SummaryWriter(folder, filename_suffix=end) as writer:
                for step in (10 * restart, 10 * restart + 10):
                    writer.add_scalar("loss", seed + step + restart, step)
                    writer.add_histogram("weights", np.arange(5.0), step)
    table = imported(tmp_path, "tensorboard", "{method}/seed{seed}")
    assert ends(table, "loss") == [22, 23]
    assert set(table["step"]) == {0, 10, 20}
    # A run that was killed has half of a record at its end.
    file = max((tmp_path / "A/seed2").iterdir())
    write(file, file.read_bytes()[:-5])
    assert len(imported(tmp_path, "tensorboard", "{method}/seed{seed}")) >= 5


def test_tensors_of_tensorflow(tmp_path):
    event_pb2 = pytest.importorskip("tensorboardX.proto.event_pb2")
    event = event_pb2.Event(step=3)
    value = event.summary.value.add(tag="accuracy")
    value.tensor.dtype, value.tensor.tensor_content = 1, np.float32(0.5).tobytes()
    text = event.summary.value.add(tag="note")
    text.tensor.dtype = 7
    record = event.SerializeToString()
    content = len(record).to_bytes(8, "little") + b"crc!" + record + b"crc!"
    write(tmp_path / "r/events.out.tfevents.1", content)
    assert imported(tmp_path, "tensorboard")[["step", "accuracy"]].values.tolist() == [[3, 0.5]]


def test_mlflow(tmp_path):
    runs = tmp_path / "mlruns" / "7"
    write(runs / "meta.yaml", "experiment_id: '7'\n")
    for name, stage in (("a1", "active"), ("a2", "active"), ("old", "deleted")):
        write(runs / name / "meta.yaml", f"run_id: {name}\nlifecycle_stage: {stage}\nstatus: 3\n")
        write(runs / name / "metrics" / "loss", "1 0.9 0\n2 0.4 5\n2 0.3 5\n")
        write(runs / name / "metrics" / "val" / "step", "1 0.9 0\n")
        write(runs / name / "params" / "seed", name[1:])
        write(runs / name / "params" / "loss", "mse")
    write(runs / "models" / "m-1" / "meta.yaml", "model_id: m-1\n")
    write(runs / "models" / "m-1" / "metrics" / "loss", "1 5 0\n")
    table = imported(tmp_path, "mlflow")
    assert ends(table, "loss") == [0.3, 0.3]
    assert set(table["seed"]) == {"1", "2"}
    assert set(table["setting_loss"]) == {"mse"}


def test_lightning(tmp_path):
    metrics = "epoch,step,train_loss,val_acc\n0,4,,0.5\n0,9,0.7,\n1,9,,0.6\n1,14,0.6,\n"
    for version, hparams in enumerate(("lr: 0.1\nname: x\n", "!!python/object:os.system {}", "")):
        write(tmp_path / f"version_{version}" / "metrics.csv", metrics)
        write(tmp_path / f"version_{version}" / "hparams.yaml", hparams)
    table, preview = import_logs([tmp_path], "lightning", "version_{seed}")
    assert ends(table, "val_acc") == [0.6] * 3
    assert ends(table, "train_loss") == [0.6] * 3
    assert table["lr"].dropna().unique().tolist() == [0.1]
    assert "left out" in preview


def test_huggingface(tmp_path):
    history = [{"loss": 1.5, "step": 1, "epoch": 0.1}, {"eval_loss": 1.0, "step": 2}]
    write(tmp_path / "A-0/checkpoint-1/trainer_state.json", {"log_history": history[:1]})
    write(tmp_path / "A-0/checkpoint-2/trainer_state.json", {"log_history": history})
    write(tmp_path / "A-1/trainer_state.json", {"log_history": [{"loss": float("nan"), "step": 3}]})
    table = imported(tmp_path, "huggingface", "{method}-{seed}")
    assert table["step"].tolist() == [1, 2, 3]
    assert table["diverged"].tolist() == [False, False, True]
    assert table["loss"][1] == 1.5  # its last value stands in the last row, too


def test_files(tmp_path):
    for seed in (0, 1):
        write(tmp_path / f"A/seed{seed}.csv", f"Epoch,host,score\n1,x,{seed}\n2,x,{seed + 5}\n")
    write(tmp_path / "notes.csv", "some;text")
    table, preview = import_logs([tmp_path], "files", "{method}/seed{seed}.csv")
    assert table[["method", "seed", "step", "score"]].values.tolist() == [
        ["A", "0", 1, 0], ["A", "0", 2, 5], ["A", "1", 1, 1], ["A", "1", 2, 6],
    ]  # fmt: skip
    assert set(table["host"]) == {"x"}
    assert "notes.csv does not fit" in preview


FILE = "step,loss\n1,0.5\n"


@pytest.mark.parametrize(
    ("format", "name", "content", "told"),
    [
        ("files", "a.csv", "", "columns"),
        ("files", "a.csv", b"\x00\xff\x00", "read"),
        ("files", "a.csv", "step,loss\n1,0.5\n1,0.6\n", "at step 1"),
        ("files", "a.csv", "step,loss\n1,0.5\n2,abc\n", "'abc' in row 2"),
        ("files", "a.csv", "step,loss\n0.5,1\n", "whole"),
        ("files", "a.csv", "x,loss\n1,1\n2,1\n", "--step"),
        ("files", "a.csv", "step,loss\n1,\n", "no metric"),
        ("wandb", "a.csv", FILE, "RUN - METRIC"),
        ("huggingface", "trainer_state.json", "{", "trainer"),
        ("huggingface", "trainer_state.json", "[" * 100_000, "trainer"),
        ("huggingface", "trainer_state.json", '{"log_history": [{"loss": 1}]}', "trainer"),
        ("mlflow", "r/meta.yaml", "!!python/object:os.system {}", "YAML"),
        ("tensorboard", "x.tfevents", b"\xff" * 100, "event file"),
        ("excel", "a.csv", FILE, "allowed: files"),
    ],
)
def test_what_is_wrong_ends_in_a_line(tmp_path, capsys, format, name, content, told):
    if format == "tensorboard":
        pytest.importorskip("tensorboardX")
    write(tmp_path / name, content)
    with pytest.raises(verdicts.UserError, match=told) as error:
        imported(tmp_path, format)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("format", FORMATS)
def test_pipes_and_links_are_refused(tmp_path, format):
    pipe = tmp_path / FORMATS[format][0].replace("*", "a")
    os.mkfifo(pipe)
    for path in (pipe, tmp_path):
        with pytest.raises(verdicts.UserError, match="not a regular file"):
            imported(path, format)
    pipe.unlink()
    pipe.symlink_to("/etc/passwd")
    with pytest.raises(verdicts.UserError, match="no file"):
        imported(tmp_path, format)


def test_mistakes_in_options(tmp_path):
    file = write(tmp_path / "chart.csv", WANDB)
    for pattern in ("A", "{a}-{a}", "{0}-{b}", "", "{method}/{seed}", "{a"):
        with pytest.raises(verdicts.UserError, match="pattern"):
            imported(file, "wandb", pattern)
    assert main(["import", str(file), "--as", "wandb", "--out", str(tmp_path / "runs.txt")]) == 2
