"""What the workflow makes from a stranger's archive: no HTML, no links, and nothing is imported."""

import json
import shutil
import sys
from pathlib import Path

import pytest
import yaml
from clone import REPOSITORY
from finished_runs import CLAIMS, FINDINGS, good_archive
from running import finished, start

from ngo.pipeline.archives.archive import read_archive
from ngo.report.pages import FOLDER, play_page
from verdicts.members import tar_of

OWN = (FOLDER / "page.js").read_text(encoding="utf-8").strip()
SCRIPT = "<script>x()</script> ![a](http://b) <img src=x onerror=x()>"
#: The file that code of an archive, or in its folder, would leave.
CANARY = "canary"
CODE = f"open({CANARY!r}, 'w').close()\n".encode()


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    folder = tmp_path_factory.mktemp("good")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return good_archive(folder)


def rebuilt(content: bytes, folder: Path) -> Path:
    """The folder of results that the workflow makes from an archive."""
    (folder / "a.tar").write_bytes(content)
    command = [sys.executable, "-m", "ngo", "rebuild", folder / "a.tar", "--out", folder / "out"]
    finished(start(command, cwd=REPOSITORY))
    (unpacked,) = (folder / "out").iterdir()
    assert not list(folder.rglob(CANARY))
    return unpacked / "results/test"


def test_texts_of_an_archive_are_neither_html_nor_links_on_any_page(good, tmp_path):
    members = read_archive(good).members
    claims = {f"{name}": {**claim, "says": SCRIPT, "place": SCRIPT, "unit": SCRIPT}
              for name, claim in CLAIMS.items()}  # fmt: skip
    topics = [{**topic, "title": SCRIPT, "about": SCRIPT} for topic in FINDINGS["topics"]]
    asked = [{"asks": SCRIPT, "claims": dict.fromkeys(CLAIMS, SCRIPT)}]
    findings = {**FINDINGS, "title": SCRIPT, "topics": topics, "questions": asked}
    members["own/claims.yaml"] = yaml.safe_dump({"claims": claims}).encode()
    members["own/findings.yaml"] = yaml.safe_dump(findings).encode()
    config, tier = members["config/config.yaml"], b"tier: test\n"
    assumed = f"tier: test # assumed: {SCRIPT}\n".encode()
    assert tier in config
    members["config/config.yaml"] = config.replace(tier, assumed)
    results = rebuilt(tar_of(members), tmp_path)
    tool = [sys.executable, "-P", REPOSITORY / "tools/results_page.py", "--archive"]
    finished(start([*tool, tmp_path / "a.tar", "--shipped", tmp_path / "out"], cwd=REPOSITORY))
    pages = [path for kind in ("html", "md") for path in results.rglob(f"*.{kind}")]
    assert {path.name for path in pages} >= {"report.html", "claims.html", "claims.md", "test.md"}
    for path in pages:
        text = path.read_text(encoding="utf-8")
        if path.name == "play.html":  # it has scripts of its own, and nothing of an archive
            assert text == play_page()
            continue
        text = text.replace(r"\<", "").replace(r"\]", "").replace(f"<script>\n{OWN}", "")
        assert "<script" not in text, path
        assert "<img src=x" not in text, path
        assert path.suffix != ".md" or "](http://b" not in text, path


def test_the_workflow_imports_nothing_from_the_folder_of_an_archive(good, tmp_path):
    """Even if the folder had code in it, which no archive can bring."""
    folder = rebuilt(good.read_bytes(), tmp_path).parents[1]
    shutil.rmtree(folder / "results/test/tables")
    for name in ("ipykernel_launcher", "pandas", "tabulate", "sitecustomize", "ngo"):
        (folder / f"{name}.py").write_bytes(CODE)
    for name in ("ipython_config.py", "ipython_kernel_config.py", "jupyter_config.py"):
        (folder / name).write_bytes(CODE)
    hooks = {"IPKernelApp": {"exec_lines": [f"open({CANARY!r}, 'w').close()"]}}
    (folder / "ipython_kernel_config.json").write_text(json.dumps(hooks))
    command = [sys.executable, "-m", "ngo", "rebuild", tmp_path / "a.tar", "--out", folder.parent]
    finished(start(command, cwd=REPOSITORY))
    assert (folder / "results/test/tables/claims.html").exists()
    assert not (folder / CANARY).exists()
