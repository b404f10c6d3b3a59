import json
import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pandas as pd
import psutil
import pytest
import running
from conftest import REPOSITORY

from ngo.cli import prefork
from ngo.figures.declaration import FIGURE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="prefork servers need Linux")

RUN = ["--dataset", "digits", "--batch-size", "16", "--device", "cpu"]
ENDLESS = ["--epochs", "90000"]


def wait_for(path):
    """Wait until a server takes jobs: on a busy machine its imports outlast a client's patience."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(running.LIMIT)
        connection.connect(str(path))
        assert connection.recv(1) == prefork.READY


@pytest.fixture(scope="module")
def server():
    with prefork.start() as server:
        wait_for(server.socket)
        yield server


@pytest.fixture
def only_prefork(tmp_path):
    """An environment in which the command line can't be imported, so that only a server works."""
    (tmp_path / "poison").mkdir()
    (tmp_path / "poison/click.py").write_text("raise ImportError('no server did this job')")
    paths = [str(tmp_path / "poison"), os.environ.get("PYTHONPATH", "")]
    return {"PYTHONPATH": os.pathsep.join(paths)}


def ngo_train(socket, *arguments, environment=(), **options):
    return running.start(
        [sys.executable, "-m", "ngo", "train", *RUN, *arguments],
        env={**os.environ, **dict(environment), "NGO_WARM": str(socket)},
        **options,
    )


def outcome(process, code=0):
    out, err = running.ended(process)
    assert process.returncode == code, err
    return out, err


def metrics(folder):
    return pd.read_parquet(folder / "metrics.parquet")


def record(folder):
    values = json.loads((folder / "run.json").read_text())
    for clock in ("started", "wall_seconds", "evaluation_seconds", "seconds_evaluating"):
        del values[clock]
    return values


def test_two_runs_at_once_and_one_of_them_without_a_server(server, only_prefork, tmp_path):
    short = ["--epochs", "1", "--threads", "2"]
    runs = [
        ngo_train(
            server.socket,
            *short,
            "--seed",
            k,
            "--out",
            tmp_path / f"w{k}",
            environment=only_prefork,
        )
        for k in (0, 1)
    ]
    for process in runs:
        out, err = outcome(process)
        assert out.startswith("digits-iid-ring-ngo-")
        assert "epoch   1.0" in err
    # A socket that nobody listens to: no server did this job, without a word.
    (tmp_path / "stale").touch()
    out, err = outcome(ngo_train(tmp_path / "stale", *short, "--seed", 1, "--out", tmp_path / "c1"))
    assert len(err.splitlines()) == 1 + len(metrics(tmp_path / "c1"))
    pd.testing.assert_frame_equal(metrics(tmp_path / "w1"), metrics(tmp_path / "c1"))
    assert record(tmp_path / "w1") == record(tmp_path / "c1")
    assert not metrics(tmp_path / "w0").equals(metrics(tmp_path / "w1"))


def test_a_mistake_is_the_same_line(server, only_prefork, tmp_path):
    wrong = ["--p", "1.2", "--out", tmp_path / "run"]
    told = outcome(ngo_train(server.socket, *wrong, environment=only_prefork), code=2)
    assert told == outcome(ngo_train(tmp_path / "none", *wrong), code=2)
    assert told[1].startswith("ngo: p: 1.2 is out of range")


def test_a_plugin_is_loaded_for_its_own_job_only(server, only_prefork, tmp_path):
    edges = "[(0, i) for i in range(n)]"
    code = f"import ngo\n@ngo.topology('mine')\ndef mine(n):\n    return {edges}\n"
    (tmp_path / "mine.py").write_text(code)
    run = ["--topology", "mine", "--epochs", "0.2", "--out", tmp_path / "run"]
    plugin = ["--plugin", tmp_path / "mine.py"]
    out, _ = outcome(ngo_train(server.socket, *run, *plugin, environment=only_prefork))
    assert out.startswith("digits-iid-mine-ngo-")
    _, err = outcome(ngo_train(server.socket, *run, environment=only_prefork), code=2)
    assert "topology: 'mine' is unknown; allowed: alternating_matching, " in err
    before = running.start(
        [sys.executable, "-m", "ngo", *plugin, "train", *RUN, *run, "--overwrite"],
        env={**os.environ, **only_prefork, "NGO_WARM": server.socket},
    )
    assert outcome(before)[0].startswith("digits-iid-mine-ngo-")


def test_options_of_a_plugin_are_options_of_a_job(server, only_prefork, tmp_path):
    """The server has imported the command before the plugin is loaded."""
    plugin = REPOSITORY / "examples/plugins/local_adam.py"
    rule = ["--local-rule", "adam_cosine", "--beta1", "0.8", "--epochs", "0.2"]
    run = [*rule, "--plugin", plugin, "--out", tmp_path / "run"]
    outcome(ngo_train(server.socket, *run, environment=only_prefork))
    assert record(tmp_path / "run")["spec"]["beta1"] == 0.8


def test_the_command_comes_after_the_plugins():
    assert prefork._command(["ngo", "--plugin", "train", "--plugin=b.py", "runs"]) == "runs"
    assert prefork._command(["ngo", "--plugin"]) is None


def test_folder_umask_files_and_environment_are_the_clients(server, only_prefork, tmp_path):
    with (tmp_path / "log").open("w") as log:
        process = ngo_train(
            server.socket, "--epochs", "0.2", "--out", "run",
            environment=only_prefork, stderr=log, cwd=tmp_path, umask=0o027,
        )  # fmt: skip
        outcome(process)
    assert "epoch   0.22" in (tmp_path / "log").read_text()
    assert stat.S_IMODE((tmp_path / "run/metrics.parquet").stat().st_mode) == 0o640
    wide, narrow = (
        outcome(ngo_train(server.socket, "--help", environment={**only_prefork, "COLUMNS": width}))
        for width in ("78", "60")
    )
    cold = ngo_train(tmp_path / "none", "--help", environment={"COLUMNS": "60"})
    assert outcome(cold) == narrow != wide


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 128 + 15), (signal.SIGINT, 130), (signal.SIGKILL, -9)],
)
def test_with_the_client_ends_its_job(server, only_prefork, tmp_path, number, code):
    process = ngo_train(
        server.socket, *ENDLESS, "--out", tmp_path / "run",
        environment=only_prefork, stderr=subprocess.STDOUT,
    )  # fmt: skip
    while "epoch" not in process.stdout.readline():
        assert process.poll() is None
    process.send_signal(number)
    # The output ends when the last process that holds it has ended.
    said, _ = running.ended(process)
    assert process.returncode == code
    assert said.endswith("the same command resumes\n")
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["checkpoint.pt"]


def test_a_server_ends_with_its_parent_and_its_jobs_go_on(only_prefork, tmp_path):
    code = "from ngo.cli import prefork; print(prefork.start().socket, flush=True); input()"
    parent = running.start([sys.executable, "-c", code], stdin=subprocess.PIPE, stderr=None)
    path = Path(parent.stdout.readline().strip())
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    wait_for(path)
    process = ngo_train(
        path,
        *ENDLESS,
        "--out",
        tmp_path / "run",
        environment=only_prefork,
        stderr=subprocess.STDOUT,
    )
    while "epoch" not in process.stdout.readline():
        assert process.poll() is None
    parent.kill()
    running.awaited(lambda: not path.parent.exists())
    assert (
        "epoch" in process.stdout.readline()
    )  # the job continues, and its client still gets the output
    process.terminate()
    assert process.wait(running.LIMIT) == 128 + signal.SIGTERM
    running.ended(parent)  # no process is left that holds the parent's output


def test_a_stopped_server_leaves_nothing():
    server = prefork.start()
    assert Path(server.socket).exists()
    server.stop()
    assert not Path(server.socket).parent.exists()
    assert prefork.ask(server.socket, ["ngo", "train", "--device", "cpu"]) is None


def test_other_commands_are_not_for_the_server(server):
    cpu = ["--device", "cpu"]
    for argv in (
        ["ngo"],
        ["ngo", "data", "digits"],
        ["ngo", "throughput", *cpu],
        ["ngo", "train", "--device", "cuda"],
        ["ngo", "train", "--distributed", *cpu],
    ):
        assert prefork.ask(server.socket, argv) is None


def test_a_figure_is_the_same_from_a_server(server, only_prefork, tmp_path):
    """The server forks the notebook's job and its kernel."""

    def ngo(*arguments, **environment):
        command = [sys.executable, "-m", "ngo", *map(str, arguments)]
        done = subprocess.run(
            command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr

    metrics = tmp_path / "metrics.parquet"
    start = {"NGO_WARM": server.socket, **only_prefork}
    ngo("consensus", "--p", 0.5, "--rounds", 20, "--out", metrics, **start)
    figures = []
    for name, environment in (("forked", start), ("alone", {})):
        parameters = (f"metrics={metrics}", f"out={tmp_path / name}")
        flags = [word for parameter in parameters for word in ("-p", parameter)]
        notebook = REPOSITORY / "notebooks/fig3.ipynb"
        ngo("notebook", notebook, "--out", tmp_path / f"{name}.ipynb", *flags, **environment)
        figures.append([(tmp_path / name / f"figures/fig3.{kind}") for kind in FIGURE])
    for ours, theirs in zip(*figures, strict=True):
        assert ours.read_bytes() == theirs.read_bytes()


def test_a_client_imports_little():
    """Each short job of a pipeline starts one."""
    code = "import sys; import ngo.cli.prefork; print({'typing', 're', 'click'} & set(sys.modules))"
    command = [sys.executable, "-S", "-c", code]  # -S: what a folder's .pth files import is theirs
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "src")}
    assert running.finished(running.start(command, env=environment)) == "set()\n"


def test_a_killed_job_is_told(server, only_prefork, tmp_path):
    out = tmp_path / "run"
    process = ngo_train(server.socket, *ENDLESS, "--out", out, environment=only_prefork)
    while "epoch" not in process.stderr.readline():
        assert process.poll() is None
    # A job is one process, a child of the server.
    [worker] = [
        child
        for child in psutil.Process(server._process.pid).children()
        if any(str(out) in file.path for file in child.open_files())
    ]
    assert not worker.children()
    worker.kill()
    assert outcome(process, code=137)[1].endswith("ngo: the process that did this job was killed\n")
