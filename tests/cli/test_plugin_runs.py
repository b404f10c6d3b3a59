"""Runs with plugins: their options, checkpoints, processes; the recipes; own data; mistakes."""

import json
import re
import sys

import numpy as np
import pandas as pd
import pytest
from command_line import mistake, ngo
from conftest import CONFIGS, REPOSITORY
from running import start

from ngo.common.registries import ATTACKS, DECLARED, MODELS, TASKS
from ngo.data.description import identity
from ngo.pipeline.archives.finished_runs import of_this_code, read_run
from ngo.pipeline.config import read_config
from ngo.pipeline.plan import plan

EXAMPLES = REPOSITORY / "examples/plugins"
SMALL = ["--dataset", "flowers", "--workers", 4, "--batch-size", 8, "--device", "cpu"]
SHORT = ["--epochs", 2, "--threads", 1]


def examples(*names):
    return [word for name in names for word in ("--plugin", EXAMPLES / f"{name}.py")]


def command(*arguments, **how):
    return start([sys.executable, "-m", "ngo", "train", *SMALL, *arguments], **how)


def losses(folder):
    return pd.read_parquet(folder / "metrics.parquet")["consensus_loss"].tolist()


def test_an_option_of_a_plugin_is_one_of_the_command(own_entries, tmp_path):
    """Also of a command that was imported before the plugin."""
    assert "--beta1" not in ngo("train", "--help")
    run = ["train", *examples("csv_data", "local_adam"), *SMALL, *SHORT]
    adam = ["--local-rule", "adam_cosine"]
    help = " ".join(ngo(*run, "--help").split())
    assert "--beta1 FLOAT Decay of Adam's first moment (0 or more, below 1) [default: 0.9]" in help
    for folder, more in {"a": [], "b": ["--beta1", 0.9], "c": ["--beta1", 0.5]}.items():
        ngo(*run, *adam, *more, "--out", tmp_path / folder)
    assert losses(tmp_path / "a") == losses(tmp_path / "b") != losses(tmp_path / "c")
    record = json.loads((tmp_path / "c/run.json").read_text())
    assert record["spec"]["beta1"] == 0.5
    assert record["command"][record["command"].index("--beta1") + 1] == "0.5"
    assert mistake(*run, *adam, "--beta1", 1, "--out", tmp_path / "d") == (
        "beta1: 1.0 is out of range; it must be a number, 0 or more, below 1."
    )
    assert "--beta1" not in ngo("partition", "--help")
    DECLARED.clear()
    assert "--beta1" not in ngo("train", "--help")


def test_a_partition_may_have_options(own_entries, tmp_path):
    """They are options of ``ngo partition`` too."""
    (tmp_path / "strided.py").write_text(
        "import numpy as np, ngo\n"
        "OWN = {'stride': ngo.whole('distance of samples', 2, ngo.at_least(1))}\n"
        "@ngo.partition('strided', options=OWN)\n"
        "def strided(labels, n, *, stride, generator):\n"
        "    return [np.arange(i, len(labels), n * stride) for i in range(n)]\n"
    )
    words = ["--plugin", tmp_path / "strided.py", "--dataset", "digits", "--partition", "strided"]
    words += ["--stride", 3, "--workers", 2]
    assert "480 samples, 240 to 240 " in ngo("partition", *words, "--out", tmp_path / "p.parquet")
    file = ["--partition-file", tmp_path / "p.parquet", "--epochs", 0.1, "--batch-size", 8]
    ngo("train", *words, *file, "--device", "cpu", "--out", tmp_path / "run")
    assert json.loads((tmp_path / "run/run.json").read_text())["spec"]["stride"] == 3


MISTAKES = {
    "x = ": "plugin: '.*bad.py' can't be imported: SyntaxError: invalid syntax .*line 1",
    "import sys; sys.exit('usage')": "plugin: '.*bad.py' can't be imported: SystemExit.*: usage",
    "@ngo.topology('ring')\ndef mine(n): ...": "topology: 'ring' is registered already; choose",
    "@ngo.topology('a/b')\ndef mine(n): ...": "topology: 'a/b' is not allowed; use",
    "@ngo.topology('mine')\ndef mine(n):\n    return [(0, n)]": r"topology: .* edge \(0, 4\) on 4 ",
    "@ngo.topology('mine')\ndef mine(n, width): ...": "topology: .* argument 'width', which is not",
    "@ngo.topology('mine')\ndef mine(n):\n    return 1 // 0": (
        r"topology 'mine' \(bad.py, line 4\): ZeroDivisionError: integer division"
    ),
    "@ngo.topology('mine', check=lambda n: 1 // 0)\ndef mine(n): ...": "'mine', check .*Zero",
    "@ngo.topology('mine', period=lambda n, k: k)\ndef mine(n, t): ...": "period .*KeyError: 'k'",
    "@ngo.topology('mine')\ndef mine(): ...": "'mine' .*line 2.*: mine.. takes 0",
    "@ngo.partition('mine')\ndef mine(labels, n): ...": "partition 'mine' .*'generator'",
    "@ngo.partition('mine')\ndef mine(labels, n, *, generator):\n    return 3": "has no len",
    "@ngo.partition('mine', smallest_share=lambda m, n: m // 0)\ndef mine(labels, n): ...": (
        r"partition 'mine', smallest_share \(bad.py, line 2\): ZeroDivisionError"
    ),
    "@ngo.partition('mine', owned=lambda m: m)\ndef mine(labels, n, *, generator):\n"
    "    return [range(i, 40, n) for i in range(n)]": "'mine', owned .*<lambda>.. takes",
}


def setting(name, default=1.0):
    own = f"{{'{name}': ngo.number('a number', {default}, ngo.above(0))}}"
    return f"@ngo.local_rule('{name}_rule', options={own})\ndef {name}_rule(step): ...\n"


for taken in ("lr", "step"):
    MISTAKES[setting(taken)] = f"option: '{taken}' is a name that the package uses; choose"


@pytest.mark.usefixtures("own_entries")
@pytest.mark.parametrize(("code", "message"), MISTAKES.items(), ids=lambda text: text[:20])
def test_a_mistake_in_a_plugin_is_a_line(tmp_path, code, message):
    (tmp_path / "bad.py").write_text(f"import ngo\n{code}" if code != "x = " else code)
    run = ["train", *SMALL, *SHORT, "--out", tmp_path / "run"]
    if own := re.match(r"@ngo\.(topology|partition)\('mine'", code):
        run += [f"--{own[1]}", "mine"]
    out = ngo(*run, *examples("csv_data"), "--plugin", tmp_path / "bad.py", code=2)
    (line,) = (line for line in out.splitlines() if line.startswith("ngo: "))
    assert re.search(message, line), line


HOW_TO = REPOSITORY / "docs/how_to"


@pytest.fixture
def recipes(own_entries, tmp_path):
    """The plugins that the pages of docs/how_to write, each whole, as options."""
    options = []
    for page in sorted(HOW_TO.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        for name, content in re.findall(r"^%%writefile (\S+\.py)\n(.*?)^```$", text, re.M | re.S):
            (tmp_path / name).write_text(content)
            options += ["--plugin", tmp_path / name]
    assert len(options) == 2 * 14
    return options


def test_a_run_with_the_recipes(recipes, tmp_path):
    words = "--topology wheel --method gossip_first --local-rule heavy_ball --mass 0.5 "
    words += "--coupling tanh --schedule follow_cosine --dataset disc --model disc_net "
    words += "--partition striped --workers 4 --epochs 20 --device cpu"
    ngo("train", *recipes, *words.split(), "--out", tmp_path / "run")
    first, *_, last = pd.read_parquet(tmp_path / "run/metrics.parquet")["consensus_loss"]
    assert last < 0.8 * first
    assert TASKS["absolute_error"].labelled is False
    assert MODELS["sine_net"].task == "absolute_error"
    assert ATTACKS["stranger"].fields == ("liars",)


def test_the_owners_of_the_recipes(recipes, tmp_path):
    out = tmp_path / "p.parquet"
    natural = ["--dataset", "disc", "--partition", "natural", "--workers", 8]
    ngo("partition", *recipes, *natural, "--out", out)
    table = pd.read_parquet(out)
    assert (table["worker"] == table["sample"] // 100).all()


pytestmark = pytest.mark.usefixtures("own_entries")


def example():
    """The command and the overlay of docs/how_to/data.md, verbatim."""
    part = (REPOSITORY / "docs/how_to/data.md").read_text(encoding="utf-8")
    command = re.search(r"^ngo (describe .*)$", part, re.M)[1]
    return command.split(), re.search(r"^```yaml\n(.*?)^```$", part, re.M | re.S)[1]


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A working directory with the data of the example, and its overlay."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NGO_DATA", raising=False)
    (tmp_path / "data").mkdir()
    (tmp_path / "mine.yaml").write_text(example()[1])
    rng, labels = np.random.default_rng(0), np.arange(96) % 3
    images = rng.integers(0, 80, (96, 28, 28), dtype=np.uint8) + 80 * labels[:, None, None]
    pairs = {"x_train": images[:72], "y_train": labels[:72]}
    pairs |= {"x_test": images[72:], "y_test": labels[72:], "owner_train": np.arange(72) // 12}
    np.savez("data/marks.npz", **{k: v.astype(np.uint8) for k, v in pairs.items()})
    return tmp_path


def test_the_example_of_the_docs_trains(study):
    told = ngo(*example()[0])
    facts = "72 training samples of 1 × 28 × 28, 3 classes, with owners"
    assert told == f"marks: {facts} → {study}/marks.yaml\n"
    specs = plan(read_config([CONFIGS[0], "mine.yaml"])).training["mymarks"]
    runs = {spec.method: spec for spec in specs if spec.seed == 0}
    assert set(runs) == {"gossip", "ngo"}
    ngo("train", "--plugin", "marks.yaml", *runs["ngo"].flags(), "--device", "cpu", "--out", "run")
    record = json.loads((study / "run/run.json").read_text())
    assert record["about"]["data"] == identity("marks")
    assert [plugin["file"] for plugin in record["plugins"]] == ["marks.yaml"]
    assert of_this_code(read_run(study / "run"), runs["ngo"])
    partition = ["partition", "--plugin", "marks.yaml", "--dataset", "marks", "--workers", "3"]
    ngo(*partition, "--partition", "natural", "--out", "p.parquet")
    owner = pd.read_parquet("p.parquet").assign(owner=lambda rows: rows["sample"] // 12)
    assert (owner.groupby("owner")["worker"].nunique() == 1).all()
    assert (owner.groupby("worker")["owner"].nunique() == 2).all()
