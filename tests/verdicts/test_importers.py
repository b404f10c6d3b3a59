"""Logs of other tools become tables that the judge reads; what is wrong ends in one line."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cases import cases, refused

import verdicts
from verdicts.cli import main
from verdicts.importers import FORMATS, import_logs

WANDB = """\
"Step","A-s0 - val/acc","A-s0 - val/acc__MIN","A-s0 - val/acc__MAX","B-s0 - val/acc"
"0","0.1","0.1","0.1","0.2"
"10","0.5","0.5","0.5",""
"20","","","","0.7"
"""
STEP_NAMES = ("Step", "_step", "global_step", "Timestep", "total timesteps", "time/total_timesteps")
FILE = "step,loss\n1,0.5\n"


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


def event(step, start=False, **scalars):
    made = pytest.importorskip("tensorboardX.proto.event_pb2").Event(step=step)
    for tag, number in scalars.items():
        made.summary.value.add(tag=tag, simple_value=number)
    if start:
        made.session_log.status = 1
    return made


def records(*events):
    """The events of a file, each with the bitwise CRC32C of its length and of its bytes."""
    content = b""
    for record in (made.SerializeToString() for made in events):
        for part in (len(record).to_bytes(8, "little"), record):
            crc = 0xFFFFFFFF
            for byte in part:
                crc ^= byte
                for _ in range(8):
                    crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
            crc ^= 0xFFFFFFFF
            masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) % 2**32
            content += part + masked.to_bytes(4, "little")
    return content


def test_a_restart_drops_what_it_repeats(tmp_path):
    first = records(*(event(step, acc=step / 100, loss=1.0) for step in range(0, 60, 10)))
    write(tmp_path / "r/tfevents.1", first)
    write(tmp_path / "r/tfevents.2", records(event(20, start=True), event(20, acc=0.9)))
    table, preview = import_logs([tmp_path], "tensorboard")
    assert table["step"].tolist() == [0, 10, 20]
    assert ends(table, "acc") == pytest.approx([0.9])
    assert "went back to step 20: 8 values" in preview
    # without that event, only the metric that is logged again goes back
    write(tmp_path / "r/tfevents.2", records(event(20, acc=0.9)))
    table = imported(tmp_path, "tensorboard")
    assert table["acc"].tolist() == pytest.approx([0, 0.1, 0.9, np.nan, np.nan, 0.9], nan_ok=True)
    assert table["loss"].tolist() == [1] * 6


def test_damaged_events(tmp_path):
    content = records(*(event(step, acc=0.5) for step in range(4)))
    size = len(content) // 4
    for at, rows in ((2 * size + 1, 2), (3 * size + 15, 3)):  # in a length; in an event
        damaged = bytearray(content)
        damaged[at] ^= 4
        write(tmp_path / "r/tfevents.1", bytes(damaged))
        table, preview = import_logs([tmp_path], "tensorboard")
        assert len(table) == rows
        assert "tfevents.1' is damaged, and read up to there: a wrong checksum" in preview
    write(tmp_path / "r/tfevents.1", content[:-5])  # a run that was killed
    table, preview = import_logs([tmp_path], "tensorboard")
    assert (len(table), "0 notes" in preview) == (3, True)


def test_tensors_of_tensorflow(tmp_path):
    made = event(3)
    value = made.summary.value.add(tag="accuracy")
    value.tensor.dtype, value.tensor.tensor_content = 1, np.float32(0.5).tobytes()
    text = made.summary.value.add(tag="note")
    text.tensor.dtype = 7
    write(tmp_path / "r/events.out.tfevents.1", records(made))
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


def test_broken_runs_of_mlflow_are_told(tmp_path):
    logged = {"old": "1 0.9\n2 0.4\n", "cut": "1 0.9 0\n2 0.4 1\n2 0.3", "huge": "1 1e400 0\n"}
    logged |= {"far": "1 0.9 9223372036854775808\n", "near": "1 -inf 9007199254740993\n"}
    logged["broken"] = "1 0.9 0\n2\n3 0.2 2\n"
    for name, text in logged.items():
        write(tmp_path / name / "meta.yaml", f"run_uuid: {name}\n")
        write(tmp_path / name / "metrics" / "loss", text)
    write(tmp_path / "empty" / "meta.yaml", "")
    table, preview = import_logs([tmp_path], "mlflow")
    assert [Path(run).name for run in table["run"]] == ["cut", "cut", "near", "old"]
    assert table["loss"].tolist() == [0.9, 0.4, -np.inf, 0.4]
    for name in ("broken/metrics/loss", "far/metrics/loss", "empty/meta"):
        assert name in preview


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


def test_nested_hparams(tmp_path):
    hparams = ("run: {seed: 3, lr: 0.1}\nnet: {size: [1, 2]}", "run: {seed: 4, lr: 0.2}")
    for version, text in enumerate(hparams):
        write(tmp_path / f"version_{version}" / "metrics.csv", "step,loss\n0,1\n")
        write(tmp_path / f"version_{version}" / "hparams.yaml", text)
    table, preview = import_logs([tmp_path], "lightning")
    assert table[["seed", "lr"]].values.tolist() == [[3, 0.1], [4, 0.2]]
    assert "left out: 'net.size'" in preview
    write(tmp_path / "version_1" / "hparams.yaml", "run: {lr: 0.2}\nnet: {lr: 5}")
    assert {"seed", "run.lr", "net.lr"} <= {*imported(tmp_path, "lightning")}


def test_huggingface(tmp_path):
    history = [{"loss": 1.5, "step": 1, "epoch": 0.1}, {"eval_loss": 1.0, "step": 2}]
    write(tmp_path / "A-0/checkpoint-1/trainer_state.json", {"log_history": history[:1]})
    write(tmp_path / "A-0/checkpoint-2/trainer_state.json", {"log_history": history})
    gap = [{"loss": 1, "step": 1}, {"loss": None, "step": 2}]
    write(tmp_path / "A-1/trainer_state.json", {"log_history": gap})
    write(tmp_path / "A-2/trainer_state.json", "{")
    table, preview = import_logs([tmp_path], "huggingface", "{method}-{seed}")
    assert table["step"].tolist() == [1, 2, 1, 2]
    assert np.isnan(table["loss"][3])
    assert "left out: " in preview
    assert table["loss"][1] == 1.5  # its last value stands in the last row, too


def test_files(tmp_path):
    for seed in (0, 1):
        write(tmp_path / f"A/seed{seed}.csv", f"Epoch,host,score\n1,x,{seed}\n2,x,{seed + 5}\n")
    write(tmp_path / "notes.csv", "some;text")
    write(tmp_path / "A/seed2.csv", "step,loss\n")
    table, preview = import_logs([tmp_path], "files", "{method}/seed{seed}.csv")
    assert table["method"].str.cat(table["seed"]).tolist() == ["A0", "A0", "A1", "A1"]
    assert table[["step", "score"]].values.tolist() == [[1, 0], [2, 5], [1, 1], [2, 6]]
    assert set(table["host"]) == {"x"}
    assert "notes.csv does not fit" in preview
    assert "seed2.csv' has a header and no row" in preview


def logs_of(folder, **texts):
    for name, text in texts.items():
        write(folder / f"{name}.csv", text)
    return import_logs([folder], "files", "{method}_{seed}.csv")


def test_a_seed_is_a_whole_number_whatever_the_name_of_its_method(tmp_path):
    file = "step,score\n1,2\n"
    table, preview = logs_of(tmp_path, A_b_c_0=file, A_1=file, A_b_last=file)
    assert table[["method", "seed"]].values.tolist() == [["A", "1"], ["A_b_c", "0"]]
    assert "A_b_last.csv does not fit the pattern; {seed} is a whole number" in preview


@pytest.mark.parametrize("lacking", ["", "NA", "nan", "NaN"])
def test_a_run_without_its_last_values_has_diverged(tmp_path, lacking):
    lost = f"step,loss\n1,0.5\n2,{lacking}\n3,{lacking}\n"
    table, preview = logs_of(tmp_path, A_0=lost, A_1="step,loss\n1,0.5\n2,0.4\n3,0.3\n")
    assert table["step"].tolist() == [1, 2, 3] * 2
    assert np.isnan(table["loss"][2])
    assert "1 of 2 runs have diverged: " in preview
    (tmp_path / "A_1.csv").unlink()
    assert "1 runs have no number at their end" in logs_of(tmp_path)[1]


def test_rare_metrics_have_their_last_value_and_other_ends_are_told(tmp_path):
    lines = [f"{step},1,{step if step % 3 == 0 else ''}\n" for step in range(1, 9)]
    table, preview = logs_of(tmp_path, A_0="step,loss,acc\n" + "".join(lines))
    assert ends(table, "acc") == [6]
    assert "0 notes" in preview
    logs = {"A_0": FILE + "2,0.4\n", "A_1": FILE + "2,0.4\n", "A_2": FILE}
    _, preview = logs_of(tmp_path, **logs, B_0="round,loss\n1,2\n")
    assert "1 of 4 runs end at another step than most: " in preview
    assert "A_2.csv' at 1, not 2" in preview


@cases(
    "words", ("True", "True"), ("1", "1"), ("False", "True"), ("0", "1.0"), ("no", "yes"), ("", "t")
)
def test_diverged_is_true_in_any_row(tmp_path, words):
    text = "step,score,diverged\n1,2,{}\n2,3,{}\n"
    table, preview = logs_of(tmp_path, A_0=text.format(*words), A_1=text.format("0", "False"))
    assert table["diverged"].tolist() == [True, True, False, False]
    assert "1 of 2 runs have diverged" in preview
    names = ",".join(f'"A-{k} - {name}"' for k in (0, 1) for name in ("acc", "diverged"))
    write(tmp_path / "chart.csv", f"Step,{names}\n1,2,{{}},2,0\n2,3,{{}},2,0\n".format(*words))
    table = imported(tmp_path / "chart.csv", "wandb")
    assert table["diverged"].tolist() == [True, True, False, False]


def test_names_that_look_missing_survive(tmp_path):
    text = "step,attack,score\n1,{0},2\n2,{0},3\n"
    names = {"None": "NA", "null": "nan", "nan": "None", "NA": "null"}
    table, _ = logs_of(tmp_path, **{f"{k}_0": text.format(v) for k, v in names.items()})
    table.to_csv(tmp_path / "out.txt", index=False)
    rows = pd.read_csv(tmp_path / "out.txt", keep_default_na=False)
    assert dict(zip(rows["method"], rows["attack"], strict=True)) == names


@pytest.mark.parametrize("name", [*STEP_NAMES, "frames", "Frame", "iteration", "round", "Epoch"])
def test_names_of_steps(tmp_path, name):
    table, _ = logs_of(tmp_path, A_0=f"fps,{name},loss\n1,10,1\n1,20,2\n")
    assert table["step"].tolist() == [10, 20]


@pytest.mark.parametrize("name", ["Seed", " seed", "_seed", "SEED", "Diverged", "di verged"])
def test_names_that_are_nearly_reserved(tmp_path, name):
    with pytest.raises(verdicts.UserError, match=f"'( ?){name.strip()}'.* must be called"):
        logs_of(tmp_path, A_0=f"step,{name},loss\n1,2,0.5\n2,3,0.5\n")


@cases(
    "format, name, content, told",
    ("files", "a.csv", "", "columns"),
    ("files", "a.csv", "step,loss\n", "a.csv' has a header and no row"),
    ("files", "a.csv", b"\x00\xff\x00", "read"),
    ("files", "a.csv", "step,loss\n1,0.5\n1,0.6\n", "at step 1"),
    ("files", "a.csv", "step,loss\n1,0.5\n2,abc\n", "'abc' in row 2"),
    ("files", "a.csv", "step,loss\n0.5,1\n", "whole"),
    ("files", "a.csv", "x,loss\n1,1\n2,1\n", "--step"),
    ("files", "a.csv", "step,loss\n1,\n", "no metric"),
    ("files", "a.csv", "step,loss\n1,1e400\n", "too large"),
    ("files", "a.csv", "step,loss\n1,1\n2,None\n", "'None' in row 2"),
    ("files", "a.csv", "step,loss\n1e300,1\n", "2\\^63"),
    ("files", "a.csv", "step,loss,diverged\n1,1,maybe\n", "'maybe'"),
    ("files", "a.csv", "step,loss,seed\n1,1,1\n2,1,2\n", "seeds"),
    ("wandb", "a.csv", FILE, "RUN - METRIC"),
    ("huggingface", "trainer_state.json", "{", "trainer"),
    ("huggingface", "trainer_state.json", "[" * 100_000, "trainer"),
    ("huggingface", "trainer_state.json", '{"log_history": [{"loss": 1}]}', "trainer"),
    ("mlflow", "r/meta.yaml", "!!python/object:os.system {}", "YAML"),
    ("tensorboard", "x.tfevents", b"\xff" * 100, "event file"),
    ("excel", "a.csv", FILE, "allowed: files"),
)
def test_what_is_wrong_ends_in_a_line(tmp_path, capsys, format, name, content, told):
    if format == "tensorboard":
        pytest.importorskip("tensorboardX")
    write(tmp_path / name, content)
    refused(told, imported, tmp_path, format)


@pytest.mark.parametrize("format", FORMATS)
def test_pipes_and_links_are_refused(tmp_path, format):
    pipe = tmp_path / FORMATS[format][0].replace("*", "a")
    os.mkfifo(pipe)
    for path in (pipe, tmp_path):
        refused("not a regular file", imported, path, format)
    pipe.unlink()
    pipe.symlink_to("/etc/passwd")
    refused("no file.* is a link", imported, tmp_path, format)


def test_links_are_not_followed(tmp_path):
    secret = write(tmp_path / "secret" / "h.yaml", "key: s3cr3t").parent
    given = tmp_path / "given"
    write(given / "m" / "meta.yaml", "run_id: m")
    write(given / "m" / "metrics" / "loss", "1 2 3\n")
    (given / "m" / "metrics" / "key").symlink_to(secret / "h.yaml")
    (given / "m" / "params").symlink_to(secret)
    write(given / "v" / "metrics.csv", "step,loss\n1,2\n")
    (given / "v" / "hparams.yaml").symlink_to(secret / "h.yaml")
    (given / "w").symlink_to(given / "v")
    for format, links in (("mlflow", 3), ("lightning", 3)):
        table, preview = import_logs([given], format)
        assert (len(table), preview.count(" is a link")) == (1, links)
        assert "s3cr3t" not in table.to_csv()


@pytest.mark.parametrize("format", ["files", "lightning"])
@pytest.mark.parametrize(("end", "rows"), [("2,0.", 2), ("2", 1), ("2\r", None), ("2,1,4", None)])
def test_a_last_row_that_was_cut_off_is_left_out_and_told(tmp_path, format, end, rows):
    write(tmp_path / "metrics.csv", "step,loss\n1,0.5\n" + end)
    if rows is None:
        refused("the header has 2 fields, and row 2 has", imported, tmp_path, format)
        return
    table, preview = import_logs([tmp_path], format)
    assert (len(table), "last row of metrics.csv, which was cut off" in preview) == (rows, rows < 2)
    write(tmp_path / "metrics.csv", "step,loss\n1\n2,0.5")
    refused("and row 1 has 1", imported, tmp_path, format)


@pytest.mark.parametrize("files", [1, 3])
def test_points_are_counted_while_logs_are_read(tmp_path, monkeypatch, files):
    for k in range(files):
        lines = (f"{k} 1 {step}\n" for step in range(300 // files))
        write(tmp_path / f"r{k}" / "meta.yaml", f"run_id: r{k}\n")
        write(tmp_path / f"r{k}" / "metrics" / "loss", "".join(lines))
    monkeypatch.setattr("verdicts.importers.MOST_BYTES", 2300)
    monkeypatch.setattr("verdicts.importers._tidy", lambda *all: pytest.fail("all were read"))
    refused(r"bytes of the table: 2[0-9]* is .* at most 2,300", import_logs, [tmp_path], "mlflow")


def test_a_table_that_is_too_large_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("verdicts.importers.MOST_BYTES", 4000)
    names = ",".join(f"m{k}" for k in range(50))
    rows = "".join(f"{step}{',1' * 50}\n" for step in range(10))
    with pytest.raises(verdicts.UserError, match="the table has 4,000|at most 4,000"):
        logs_of(tmp_path, A_0=f"step,{names}\n{rows}", A_1=f"step,{names}\n{rows}")


def test_mistakes_in_options(tmp_path):
    file = write(tmp_path / "chart.csv", WANDB)
    for pattern in ("A", "{a}-{a}", "{0}-{b}", "", "{method}/{seed}", "{a"):
        refused("pattern", imported, file, "wandb", pattern)
    assert main(["import", str(file), "--as", "wandb", "--out", str(tmp_path / "runs.txt")]) == 2


def test_a_folder_with_too_many_files_is_refused_before_all_are_listed(tmp_path, monkeypatch):
    for k in range(5):
        (tmp_path / f"{k}.csv").write_text("step,loss\n1,2\n")
    monkeypatch.setattr("verdicts.importers.MOST_FILES", 3)
    refused("files: 4 is not allowed; at most 3", import_logs, [tmp_path], "files")
