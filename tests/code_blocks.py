"""The code blocks of the pages that the site shows, and how each is run.

A block is run in the order of its page, in a folder like the repository's. Python blocks of a page
share their variables. A block after a text that ends with "`NAME`:" is the file NAME.
"""

import json
import re
import runpy
import shlex
import shutil
import tomllib
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from markdown_it import MarkdownIt
from running import finished, start

import ngo
from ngo.cli.cli import main
from ngo.pipeline.paths import REPOSITORY
from verdicts.cli import main as verdicts_main

COPIES = runpy.run_path(str(REPOSITORY / "tools/site_pages.py"))["COPIES"]
WRITTEN = [path.relative_to(REPOSITORY) for path in sorted((REPOSITORY / "docs").rglob("*.md"))]
PAGES = [*COPIES, *(str(path) for path in WRITTEN if not {"_build", "made"} & {*path.parts})]

LANGUAGES = ("python", "bash", "console", "yaml", "toml", "json", "bibtex", "text")
"""Those of blocks. ``text`` is no code, ``console`` has commands and what they print."""

MARK = re.compile(r"<!-- not run:(.*)-->\s*")


@dataclass(frozen=True)
class Block:
    """A block of a page.

    ``file`` is the name of the file that it is, ``reason`` why it is not run (None if it is run).
    A ``cell`` is run in the build of the site; one that ``fails`` shows an error.
    """

    page: str
    line: int
    language: str
    text: str
    file: str | None
    reason: str | None
    cell: bool = False
    fails: bool = False

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def text_of(page: str) -> str:
    return (REPOSITORY / page).read_text(encoding="utf-8")


def blocks(page: str) -> Iterator[Block]:
    """The blocks of a page in their order, without directives of the site."""
    before, reason = "", None
    for token in MarkdownIt().parse(text_of(page)):
        if token.type == "inline":
            before, reason = token.content, None
        elif token.type == "html_block" and (mark := MARK.fullmatch(token.content)):
            reason = mark[1].strip()
        elif token.type in ("fence", "code_block"):
            language, text = token.info.strip(), token.content
            cell, tags = language == "{code-cell} python", ""
            named = re.search(r"`([\w./-]+\.\w+)`:$", before)
            file = named and named[1]
            if cell:
                language = "python"
                if text.startswith(":"):
                    tags, _, text = text.partition("\n\n")
                head, _, rest = text.partition("\n")
                if head.startswith("%%"):
                    language, text = "bash" if head == "%%bash" else "text", rest
                    file = head.removeprefix("%%writefile ") if language == "text" else None
            if not language.startswith("{"):
                fails = "raises-exception" in tags
                yield Block(page, token.map[0] + 1, language, text, file, reason, cell, fails)
            before, reason = "", None


BLOCKS = {page: list(blocks(page)) for page in PAGES}


def write(block: Block) -> None:
    """Write the file that a block is, into the working directory."""
    path = Path(block.file)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.text, encoding="utf-8")


def copy_repository(folder: Path) -> None:
    """Copy what the pages' commands read to ``folder``."""
    for name in ("config", "papers", "examples"):
        shutil.copytree(REPOSITORY / name, folder / name)
    (folder / "notebooks").mkdir()


def shell(text: str, environment: dict[str, str], within: float = 120) -> str:
    """What commands print, the last of which must succeed."""
    return finished(start(["bash", "-c", text], env=environment), within=within)


def run_line(line: str, environment: dict[str, str]) -> None:
    """A line of a shell. ngo's and the judge's run in this process, with a tenth of their epochs:
    as many fields, in less time.
    """
    words, may_fail = shlex.split(line.removesuffix("|| true")), line.endswith("|| true")
    if words[0] not in ("ngo", "verdicts") or "|" in words:
        shell(line, environment)
        return
    if "--epochs" in words and float(words[at := words.index("--epochs") + 1]) >= 1:
        words[at] = str(float(words[at]) / 10)
    if words[0] == "verdicts":
        code = verdicts_main(words[1:])
    else:
        result = CliRunner().invoke(main, words[1:])
        code = result.exit_code
        assert isinstance(result.exception, SystemExit | None), result.exc_info
    assert may_fail or code == 0, words


def run(block: Block, found: dict[str, object], environment: dict[str, str]) -> None:
    """Run a block in the working directory; ``found`` has the variables of its page."""
    if block.file:
        write(block)
    elif block.language == "python":
        with pytest.raises(ngo.UserError, match="Did you mean") if block.fails else nullcontext():
            exec(compile(block.text, str(block), "exec"), found)
    elif block.language == "bash":
        for line in block.text.replace("\\\n", " ").splitlines():
            run_line(line, environment)
    elif block.language == "console":
        for part in block.text.removeprefix("$ ").split("\n$ "):
            command, _, output = part.partition("\n")
            assert shell(command, environment).split() == output.split(), str(block)
    elif block.language == "json":
        json.loads(block.text)
    elif block.language == "toml":
        tomllib.loads(block.text)
    elif block.language == "yaml":
        yaml.safe_load(block.text)


def run_page(page: str, environment: dict[str, str], short: dict[str, str]) -> dict[str, object]:
    """The variables after a page's blocks that are run; ``short`` has what stands for parts."""
    found: dict[str, object] = {"__name__": "__main__"}
    for block in BLOCKS[page]:
        if block.reason is None:
            text = block.text
            for old, new in short.items():
                text = text.replace(old, new)
            run(replace(block, text=text), found, environment)
    return found
