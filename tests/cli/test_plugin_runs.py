"""Runs with plugins: their options, checkpoints, processes; the recipes; and mistakes."""

import json
import re
import sys

import pandas as pd
import pytest
from command_line import mistake, ngo
from conftest import REPOSITORY
from running import start

from ngo.common.registries import ATTACKS, DECLARED, MODELS, TASKS

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
    "@ngo.topology('a/b')\ndef mine(n): ...": "topology: 'a/b' is not allowed as a name; use",
    "@ngo.topology('mine')\ndef mine(n):\n    return [(0, n)]": r"topology: .* edge \(0, 4\) on 4 ",
    "@ngo.topology('mine')\ndef mine(n, width): ...": "topology: .* argument 'width', which is not",
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
    topology = "mine" if "'mine'" in code else "ring"
    run = ["train", *SMALL, *SHORT, "--topology", topology, "--out", tmp_path / "run"]
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
    metrics = pd.read_parquet(tmp_path / "run/metrics.parquet")
    first, *_, last = metrics["consensus_loss"]
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
