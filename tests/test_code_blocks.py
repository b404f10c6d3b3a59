"""Every code block of the site's pages is run as pasted, or says why not; every command exists.

Commands are run with fewer epochs, and so is what computes for minutes.
"""

import contextlib
import os
import re
import shlex
import sys
import textwrap
from pathlib import Path

import click
import matplotlib
import pytest
import yaml
from code_blocks import BLOCKS, LANGUAGES, PAGES, copy_repository, run_page, text_of, write
from conftest import REPOSITORY
from made_up import exponents

import verdicts
from ngo.cli.cli import main
from ngo.pipeline.config import read_config
from ngo.pipeline.notebooks import execute
from ngo.pipeline.paths import CONFIG
from ngo.pipeline.plan import plan
from ngo.training.spec import FIELDS
from verdicts import cli as judge

matplotlib.use("Agg")
FIELDS.items()  # declares the fields of all entries, before those of a test

pytestmark = [
    pytest.mark.usefixtures("own_entries"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

# Pages whose cells are run by ``make docs`` alone.
BUILT = {"docs/tutorials/own_paper.md": "it clones, trains, archives and verifies: minutes"}

# Configs on these pages are parts of a paper's.
PAPER = {"docs/how_to/paper.md": "papers/d2/config.yaml"}

# Parts of a page's code that make it long, and what stands for them.
SHORT = {"README.md": {'"epochs": 20': '"epochs": 1'}}

# A line that the example of README.md prints: a method, its five runs and their mean.
LINE = r"^ +\d +(\w+) +5 +([\d.]+) "

ALL = [block for page in PAGES for block in BLOCKS[page]]
RUN = [page for page in PAGES if page not in BUILT and any(b.reason is None for b in BLOCKS[page])]
CONFIGS = {
    page: own
    for page in PAGES
    if (own := [b for b in BLOCKS[page] if b.language == "yaml" or (b.file or "")[-5:] == ".yaml"])
}


@pytest.fixture(scope="module")
def environment():
    """The environment of commands."""
    places = [str(Path(sys.executable).parent), os.environ["PATH"]]
    return {**os.environ, "PATH": os.pathsep.join(places), "OMP_NUM_THREADS": "1"}


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A working directory like the repository's."""
    copy_repository(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NGO_DATA", raising=False)
    return tmp_path


def test_every_block_has_a_language_and_is_run_or_says_why_not():
    assert [str(block) for block in ALL if block.language not in LANGUAGES] == []
    marked = [block for block in ALL if block.reason is not None]
    assert [str(block) for block in marked if not block.reason] == []
    # Each mark is before a block.
    marks = sum(len(re.findall("^ *<!-- *not run", text_of(page), re.M)) for page in PAGES)
    assert marks == len(marked)


def new_figure(found):
    """The new notebook draws its figure from runs."""
    path = Path("results/demo/metrics/fig4.parquet")
    path.parent.mkdir(parents=True)
    exponents().to_parquet(path)
    execute(Path("notebooks/accuracy.ipynb"), Path("done.ipynb"), ())
    assert Path("results/demo/figures/accuracy.png").stat().st_size > 10_000


def own_experiment(found):
    """The method on the page is the package's gradient tracking."""
    V = found["metrics"].groupby("method")["V"].last()
    assert V["tracking"] == pytest.approx(V["gradient_tracking"], rel=0.01)
    assert V["tracking"] < V["dsgd"] / 2


def same_bytes(found):
    """The same run gives the same bytes with any number of threads."""
    columns = found["columns"]
    assert found["first"].metrics[columns].equals(found["second"].metrics[columns])


FACTS = {
    "docs/how_to/paper.md": new_figure,
    "docs/tutorials/own_experiment.md": own_experiment,
    "docs/troubleshooting.md": same_bytes,
}


@pytest.mark.parametrize("page", RUN)
def test_the_blocks_of_a_page_run(page, repository, environment):
    FACTS.get(page, dict)(run_page(page, environment, SHORT.get(page, {})))


@pytest.mark.slow
def test_the_readme_prints_what_it_says(repository, environment, capsys):
    """To the rounding of a machine."""
    run_page("README.md", environment, {})
    text = capsys.readouterr().out
    printed, said = (dict(re.findall(LINE, x, re.M)) for x in (text, text_of("README.md")))
    assert set(printed) == set(said) == {"gossip", "ngo", "d2"}
    for method, mean in said.items():
        assert float(printed[method]) == pytest.approx(float(mean), abs=0.03)


@pytest.mark.parametrize("page", CONFIGS)
def test_configs_and_claims_are_valid(page, repository):
    for block in CONFIGS[page]:
        if block.file:
            write(block)
    for block in CONFIGS[page]:
        path = repository / "block.yaml"
        path.write_text(block.text)
        content = yaml.safe_load(block.text)
        if isinstance(content.get("claims"), dict):
            verdicts.read_claims(path)
        elif block.reason is None:
            bases = [CONFIG, *([PAPER[page]] if page in PAPER else [])]
            names = [*content.get("training", {}), *content.get("universes", {})]
            plan({**read_config([*bases, path]), **({"only": names} if names else {})})


def commands(text):
    """The calls of the project's tools in the lines of a shell: the tool, and its arguments."""
    for line in textwrap.dedent(text).replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line.removeprefix("$ "), posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words = []
        with contextlib.suppress(ValueError):  # a quotation that does not end: no command
            for word in [*lexer, ";"]:
                if not set(word) <= set("|&;()<>"):
                    words.append(word)
                    continue
                if "--" in words:  # torchrun's command
                    words = words[words.index("--") + 1 :]
                if words and words[0] in ("ngo", "verdicts", "make"):
                    yield words[0], [word for word in words[1:] if word not in ("...", "…")]
                words = []


def command_of(words):
    """The command of ngo with these words; None if there is none."""
    command = main
    while isinstance(command, click.Group) and words:
        if words[0] == "--plugin":
            words = words[2:]
        elif words[0].startswith("-"):
            break
        else:
            command, words = command.get_command(None, words[0]), words[1:]
    return command


def unknown_words(tool, words):
    """What a command names that does not exist: a command, options, targets of make."""
    if tool == "make":
        makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
        known = r"^{0}:|\.PHONY:.* {0} |\b{0}( \?=|\))"
        named = [word.partition("=")[0] for word in words if not word.startswith("-")]
        return [n for n in named if not re.search(known.format(re.escape(n)), makefile, re.M)]
    if not words or not re.fullmatch(r"[a-z-]+|--plugin", words[0]) or "--plugin" in words:
        return []  # a plugin may declare more
    given = {word.partition("=")[0] for word in words if word.startswith("--")} - {"--help"}
    if tool == "verdicts":
        known = judge.parsers().get(words[0])
        return sorted(given - known._option_string_actions.keys()) if known else words[:1]
    if (command := command_of(words)) is None:
        return words[:1]
    parameters = command.get_params(click.Context(command))
    return sorted(given - {o for each in parameters for o in (*each.opts, *each.secondary_opts)})


def test_commands_that_are_not_run_and_those_in_the_text_exist_with_their_options():
    for page in PAGES:
        texts = re.findall(r"`([^`\n]+)`", text_of(page))
        for block in BLOCKS[page]:
            if block.language == "bash" and (block.reason is not None or page in BUILT):
                texts.append(block.text)
        for text in texts:
            for tool, words in commands(text):
                assert unknown_words(tool, words) == [], (page, text)


def test_the_steps_for_github_actions_run_in_the_folder_of_the_judges_example(repository):
    page = "src/verdicts/README.md"
    for block in BLOCKS[page][:4]:
        if block.file:
            write(block)
    (steps,) = [yaml.safe_load(b.text)["steps"] for b in BLOCKS[page] if "steps:" in b.text]
    (line,) = [step["run"] for step in steps if step.get("run", "").startswith("verdicts")]
    assert judge.main(line.split()[1:]) == 0
    assert Path("page/verdicts.svg").exists()
