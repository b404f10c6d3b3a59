"""The command ``verdicts``, on tables that this project did not make."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest
import running
import yaml
from foreign import CLAIMS, write

from verdicts import cli
from verdicts.cli import main
from verdicts.quantities import QUANTITIES
from verdicts.registry import UserError

CONTROLS = "\x1b[2J\a\u202e"
IMPORT = ["import", "logs", "--as", "files", "--pattern", "{method}_seed{seed}.csv"]


def test_what_is_printed_and_written(tmp_path, capsys):
    given = ["check", str(write(tmp_path)), "--tables", str(tmp_path), "--out", f"{tmp_path}/o"]
    assert main(given) == 0
    out = capsys.readouterr().out
    assert "holds      faster: B is more accurate than A" in out
    assert "3.00 points; expected above 0; margin 0.5; interval 2.86 to" in out
    assert out.endswith("Of 3 claims, 2 hold, 1 is not run or out of scale.\n")
    written = " ".join(sorted(path.suffix for path in (tmp_path / "o").glob("verdicts.*")))
    assert written == ".csv .html .json .jsonl .md .svg .tex .txt"
    assert "2 of 3 hold" in (tmp_path / "o/verdicts.svg").read_text()
    line = json.loads((tmp_path / "o/verdicts.jsonl").read_text())
    assert line["verdicts"] == {"faster": "holds", "same": "holds", "absent": "not run"}
    found = json.loads((tmp_path / "o/verdicts.json").read_text())
    assert found["counts"]["holds"] == 2
    assert [row["claim"] for row in found["rows"]] == ["faster", "same", "absent"]
    assert found["rows"][2]["estimate"] is None
    page = (tmp_path / "o/verdicts.html").read_text()
    assert "<b>A</b>" not in page
    assert "&lt;b&gt;A&lt;/b&gt; and C | agree" in page
    assert r"\<b\>A\</b\> and C \| agree" in (tmp_path / "o/verdicts.md").read_text()


def test_claims_are_registered_and_what_is_judged_says_so(tmp_path, capsys):
    claims = write(tmp_path)
    table = pd.read_csv(tmp_path / "scores.csv")
    started = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    table.assign(started=started).to_csv(tmp_path / "scores.csv", index=False)
    check = ["check", str(claims), "--tables", str(tmp_path)]
    assert main(check) == 0
    assert "first run" not in capsys.readouterr().out
    out = tmp_path / "claims.registered.yaml"
    for new in (3, 0):
        assert main(["register", str(claims)]) == 0
        assert capsys.readouterr().out == f"3 claims; {new} new or changed: {out}\n"
    for form in ("text", "markdown", "html"):
        assert main([*check, "--format", form]) == 0
        printed = capsys.readouterr().out
        assert printed.count("registered before its first run") == 2
        assert "Of 2 claims with dated runs, 2 were registered before their first run" in printed
    out.write_text("claims: 3")
    assert main(check) == 2


def test_a_claim_that_fails_or_is_not_run_sets_the_status_if_it_is_asked_for(tmp_path, capsys):
    present = CLAIMS[: CLAIMS.index("  absent:")]
    failing = present.replace("above: 0,\n     margin", "below: 0,\n     margin")
    for text, status in ((present, 0), (failing, 1), (CLAIMS, 1)):
        arguments = ["check", str(write(tmp_path, text)), "--tables", str(tmp_path)]
        assert main(arguments) == 0
        assert main([*arguments, "--strict"]) == status


def test_quantities_are_listed_with_arguments_unit_and_example(capsys):
    assert main(["quantities", "slope"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("slope(along, value='accuracy', ")
    assert "with: {along: workers, value: accuracy}" in out
    assert main(["quantities"]) == 0
    assert out in capsys.readouterr().out
    assert main(["quantities", "slop"]) == 2
    for entry in QUANTITIES.values():
        assert entry.cases or entry.unit
        assert set(yaml.safe_load(entry.example or "{}")) <= set(entry.types)


def test_the_judge_needs_neither_torch_nor_the_library_and_parquet_alone_pyarrow(tmp_path):
    """It runs where importing any of these fails."""
    code = (
        "import sys, importlib.abc\n"
        "class Refusing(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name.partition('.')[0] in 'torch ngo matplotlib networkx pyarrow'.split():\n"
        "            raise ImportError(name)\n"
        "sys.meta_path.insert(0, Refusing())\n"
        "from verdicts.cli import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "check", write(tmp_path), "--tables", tmp_path]
    assert "faster: B is more accurate than A" in running.finished(running.start(command))
    pd.DataFrame({"method": ["A", "B"], "score": [1.0, 2.0]}).to_parquet(tmp_path / "t.parquet")
    process = running.start([*command[:3], "init", tmp_path / "t.parquet", "--out", tmp_path / "t"])
    _, errors = running.ended(process)
    told = "can't be read: it needs pyarrow, which is not installed."
    assert (process.returncode, errors.count("\n")) == (2, 1)
    assert told in errors


def test_seeds_are_planned_by_a_table_or_a_spread(tmp_path, capsys):
    write(tmp_path)
    assert main(["plan", "--sd", "1", "--margin", "0.5"]) == 0
    out = capsys.readouterr().out
    assert "33 seeds show a difference of the margin,\nand 35 that there is none" in out
    assert main(["plan", str(tmp_path / "scores.csv"), "--margin", "0.5"]) == 0
    assert "scores.csv):\nsd " in capsys.readouterr().out
    for wrong in (["--sd", "1"], ["--margin", "1"], ["--sd", "0", "--margin", "1"]):
        assert main(["plan", *wrong]) == 2
        assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("form", ["text", "json"])
def test_control_characters_of_a_table_do_not_reach_the_terminal(tmp_path, capsys, form):
    claims = write(tmp_path)
    table = pd.read_csv(tmp_path / "scores.csv")
    table["method"] = table["method"].replace("B", f"B{CONTROLS}\nholds      forged: by a cell")
    table.to_csv(tmp_path / "scores.csv", index=False)
    out = tmp_path / "out"
    check = ["check", str(claims), "--tables", str(tmp_path), "--format", form, "--out", str(out)]
    assert main(check) == 0
    printed = capsys.readouterr().out
    for text in (printed, *(path.read_text() for path in out.iterdir())):
        assert not set(text) & set("\x1b\a\u202e")
        assert "\nholds      forged" not in text
    if form == "json":
        json.loads(printed)
    table.columns = ["method", "seed", f"score{CONTROLS}"]
    table.to_csv(tmp_path / "scores.csv", index=False)
    assert main(check) == 2
    errors = capsys.readouterr().err
    assert errors.count("\n") == 1
    assert not set(errors) & set("\x1b\a\u202e")


def test_nothing_that_is_read_is_written_over(tmp_path, capsys):
    claims = write(tmp_path)
    (tmp_path / "verdicts.csv").write_text("mine")
    assert main(["check", str(claims), "--tables", str(tmp_path), "--out", f"{tmp_path}/."]) == 2
    assert "is the folder of the tables; choose another" in capsys.readouterr().err
    assert (tmp_path / "verdicts.csv").read_text() == "mine"
    assert main(["register", str(claims), "--out", str(claims)]) == 2
    assert claims.read_text() == CLAIMS


@pytest.mark.timeout(60)
def test_a_pipe_or_a_device_is_refused_in_place_of_any_file(tmp_path, capsys):
    claims, pipe = write(tmp_path), tmp_path / "pipe.py"
    os.mkfifo(pipe)
    wrong = [["check", pipe], ["check", "/dev/zero"], ["quantities", "--import", pipe]]
    for arguments in (*wrong, ["check", claims, "--tables", pipe]):
        assert main([str(each) for each in arguments]) == 2
        errors = capsys.readouterr().err
        assert errors.count("\n") == 1
        assert "is not a" in errors
    paper = "paper: {file: p.csv, column: x, where: {}}, margin: 1"
    text = CLAIMS.replace("above: 0,\n     margin: 0.5", paper)
    claims = write(tmp_path, text.replace("kind: order", "kind: number"))
    os.mkfifo(tmp_path / "p.csv")
    assert main(["check", str(claims)]) == 2
    assert "p.csv' can't be read: it is not a regular file" in capsys.readouterr().err


def shell(line, folder):
    """The exit code and the errors of a line of bash in which PYTHON is this interpreter."""
    words = ["bash", "-c", f"set -o pipefail; {line.replace('PYTHON', sys.executable)}"]
    answer = subprocess.run(words, cwd=folder, capture_output=True, timeout=120, check=False)
    return answer.returncode, answer.stderr.decode()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("command", ["ngo", "verdicts"])
def test_a_closed_pipe_is_no_error_and_a_full_disk_is_one_line(command, tmp_path):
    told = f"{command}: output: No space left on device.\n"
    for end, answer in {"| true": (0, ""), ">&- 2>&-": (0, ""), "> /dev/full": (2, told)}.items():
        assert shell(f"PYTHON -m {command} --help {end}", tmp_path) == answer


def write_logs(folder):
    (folder / "logs").mkdir()
    for method in ("a", "b"):
        for seed in (0, 1):
            (folder / f"logs/{method}_seed{seed}.csv").write_text(f"step,error\n0,{seed}.5\n")


def test_an_import_into_a_pipe_writes_its_table(tmp_path):
    write_logs(tmp_path)
    line = f"PYTHON -m verdicts {' '.join(map(repr, IMPORT))} --out t.csv | true"
    assert shell(line, tmp_path) == (0, "")
    assert (tmp_path / "t.csv").stat().st_size


def test_what_out_names_is_written_before_anything_is_printed(tmp_path, monkeypatch):
    write(tmp_path)
    write_logs(tmp_path)
    monkeypatch.chdir(tmp_path)
    ranks = "compare t.csv --by method --metric error --best lowest --picture p.png"
    check = ["check", "claims.yaml", "--out", "o"], "o/verdicts.csv"
    imports = [*IMPORT, "--out", "t.csv"], "t.csv"
    for words, name in (imports, (ranks.split(), "p.png"), check):
        with monkeypatch.context() as patch:
            patch.setattr(cli, "print", lambda *text, **how: pytest.exit(text[0]), raising=False)
            with pytest.raises(pytest.exit.Exception) as told:
                main(words)
        assert (tmp_path / name).exists(), told.value


@pytest.mark.parametrize(
    ("told", "address"),
    [
        ({"url": "file:///a/verdicts.whl"}, "file:///a/verdicts.whl"),
        (
            {"url": "https://a.org/b", "vcs_info": {"vcs": "git", "commit_id": "1f"}},
            "git+https://a.org/b@1f#subdirectory=src/verdicts",
        ),
        (None, ""),
    ],
)
def test_a_paper_installs_the_judge_from_where_this_one_is_from(
    told, address, monkeypatch, tmp_path
):
    from verdicts import template_files

    class Installed:
        def __init__(self, name):
            assert name == "verdicts"

        def read_text(self, name):
            return told and json.dumps(told)

    assert template_files.installed_from().endswith("/src/verdicts")  # a checkout
    monkeypatch.setattr(template_files, "TEMPLATE", tmp_path / "template")
    monkeypatch.setattr(template_files.metadata, "distribution", Installed)
    if told:
        assert template_files.installed_from() == address
    else:
        with pytest.raises(UserError, match="not known where it is from; name it"):
            template_files.installed_from()
