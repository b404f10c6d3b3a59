"""A metrics archive: its members, its description, its bytes and its plan."""

import hashlib
import json
import sys
from pathlib import Path

import pytest
import yaml
from conftest import REPOSITORY
from finished_runs import campaign, made_up_run
from running import finished, start
from shipped_plans import planned
from two_figures import SHOWN, ngo, two_figures

from ngo.common import plugins
from ngo.pipeline.archives import archive
from ngo.pipeline.archives.archive import (
    Archive,
    archived_plan,
    collect,
    collect_finished,
    described,
)
from ngo.pipeline.archives.finished_runs import write_run
from ngo.pipeline.archives.members import ARCHIVE, METRICS, RECORDS, kind_of, tar_of
from ngo.pipeline.config import read_config
from ngo.pipeline.paths import RUNS
from verdicts.registration import read_registration, registration_path
from verdicts.registry import UserError

ALLOWED = (
    "archive.json", "SHA256SUMS", "ro-crate-metadata.json",
    "Snakefile", "workflow/Snakefile", "workflow/rules/train.smk", "config/config.yaml",
    "config/reference/table1.csv",
    "config/reference/claims.yaml", "mine/claims.yaml", "graph.edgelist", "own_plugin.py",
    "papers/d2/config.yaml", "papers/d2/claims.yaml", "papers/own/reference/table.csv",
    "results/data/mnist.json", "results/laptop/metrics/fig1.parquet",
    "results/runs/metrics.parquet", "results/runs/records.jsonl.xz",
)  # fmt: skip

REFUSED = (
    "results/laptop/tables/claims.html", "results/laptop/figures/fig1.png", ".env", ".ngo.yaml",
    "a/.b/c.yaml", "matplotlibrc", "a.pth", "pandas.so", "notebooks/fig1.ipynb", "/a.yaml",
    "../a.yaml", "a/../b.yaml", "a b.py", "a;b.yaml", "a\nb.yaml", "{a}.yaml", "$(a).yaml",
    "config/", "", "a" * 300,
)  # fmt: skip


def test_members_of_an_archive_are_of_a_kind_with_a_bound():
    for name in ALLOWED:
        assert kind_of(name).bound <= ARCHIVE


def test_results_code_and_settings_are_no_members():
    for name in REFUSED:
        with pytest.raises(UserError, match="is no part of an archive"):
            kind_of(name)


def test_members_that_the_config_does_not_ask_for_are_refused():
    names = ["archive.json", "config/config.yaml", "results/paper/metrics/fig1.parquet",
             "results/paper/metrics/runs.parquet", "results/data/mnist.json",
             "config/reference/claims.yaml", "workflow/rules/any.smk"]  # fmt: skip
    plan = planned()
    archive.check_expected(dict.fromkeys(names), plan, ["config/config.yaml"])
    others = ["results/laptop/metrics/fig1.parquet", "results/paper/metrics/other.parquet",
              "results/data/other.json", "pandas.py", "config/other.yaml"]  # fmt: skip
    for other in others:
        with pytest.raises(UserError, match=f"'{other}' is no part of an archive of its config"):
            archive.check_expected(dict.fromkeys([*names, other]), plan, ["config/config.yaml"])


def test_a_file_outside_the_working_directory_can_not_be_packed():
    assert archive.inside("plugins", "./a/../b.py") == "b.py"
    for name in ("/a.py", "../a.py"):
        with pytest.raises(UserError, match=f"plugins: '{name}' is outside the working directory"):
            archive.inside("plugins", name)


PLUGGED = {"tier": "own", "plugins": ["./a.py", "b.yaml"], "data": {"root": "/anywhere"}}


def described_by(config=PLUGGED, text=None, **changes):
    """An archive with this description, and a config file that has the same config."""
    about = {"artefacts": ["claims"], "whole": True, "configs": ["config/config.yaml"], **changes}
    own = {"a.py": b"", "b.yaml": b"", "config/config.yaml": text or json.dumps(config).encode()}
    return {**own, "archive.json": json.dumps(about).encode()}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"whole": 1}, "'whole' is 1, which is no bool"),
        ({"artefacts": [["a"]]}, "is no name"),
        ({"configs": ["/etc/config.yaml"]}, "is not in the archive"),
        ({"configs": ["b.yaml"]}, "the first config must be 'config/config.yaml'"),
    ],
)
def test_a_wrong_value_is_named(change, message):
    with pytest.raises(UserError, match=message) as told:
        described(described_by(**change))
    assert "\n" not in str(told.value)


def test_the_config_is_that_of_the_config_files():
    assert described(described_by())["config"] == PLUGGED
    for text in (b"a: [", b"a: 1\na: 2", b"[1]", b"\xff", b"a: !!python/name:os.system ''"):
        with pytest.raises(UserError, match=r"^config: 'config/config.yaml'") as told:
            described(described_by(text=text))
        assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../a", "a/../b", "~/a", "C:/a", "\\\\host\\a", "a/.."]
)
def test_a_path_outside_of_the_archive_is_refused_anywhere(path):
    for more in ({"claims": path}, {"defaults": {"graph": path}}, {"plugins": [path]},
                 {"training": {"a": {"compare": [{"graph": [path]}]}}}):  # fmt: skip
        with pytest.raises(UserError, match="its config names a path outside of it"):
            described(described_by({**PLUGGED, **more}))


def test_plugins_are_in_the_archive_and_no_other_code_is():
    with pytest.raises(UserError, match=r"the plugin 'c.py' is not in the archive"):
        described(described_by({**PLUGGED, "plugins": ["a.py", "c.py"]}))
    with pytest.raises(UserError, match=r"'pandas.py' is code, and no plugin of the config"):
        described({**described_by(), "pandas.py": b""})
    for named in ("a.py", [1], [["a.py"]]):
        with pytest.raises(UserError, match="plugins: .* must be a list of files"):
            described(described_by({**PLUGGED, "plugins": named}))


RULES = list((REPOSITORY / "workflow/rules").glob("*.smk"))
SOURCES = {"Snakefile", "workflow/Snakefile", *(f"workflow/rules/{path.name}" for path in RULES)}


@pytest.fixture
def made(tmp_path, monkeypatch):
    """The configs of two figures, whose inputs are in the working directory."""
    monkeypatch.chdir(tmp_path)
    return two_figures(tmp_path)


@pytest.fixture
def packed(shipped, there):
    """The archive of both figures, in the working directory."""
    return shipped[0]


def test_it_holds_what_the_artefacts_are_made_from_and_no_weights(packed, shipped):
    _, made, planned = shipped
    read = archive.read_archive(packed)
    members = read.members
    inputs = {path for name in SHOWN for path in planned.inputs(name).values()}
    assert "results/own/metrics/figS6.parquet" in inputs & planned.run_tables.keys()
    inputs -= planned.run_tables.keys()
    assert inputs <= set(members)
    about = json.loads(members["archive.json"])
    assert about["tier"] == "own"
    assert about["artefacts"] == SHOWN
    assert about["whole"] is False
    assert about["configs"] == ["config/config.yaml", "config/demo.yaml", "config/own.yaml"]
    assert read.about["config"] == read_config(made)
    runs = read.runs
    assert set(runs) == {spec.id for spec in planned.training["figS6"]}
    assert len(runs) == about["runs"]
    rest = set(members) - inputs - {"archive.json", *about["configs"]}
    named = {
        f"config/reference/{name}.yaml" for name in ("claims", "claims.registered", "findings")
    }
    named |= {str(path) for path in planned.ledger.printed}
    files = {"results/data/sine.json", *named}
    assert rest == {METRICS, RECORDS, *SOURCES, *files}


def test_an_archive_of_measurements_has_no_runs(made):
    members = collect([Path(name) for name in made], ["tableS1"])
    assert not {METRICS, RECORDS} & set(members)
    with pytest.raises(UserError, match="'a.tar' is refused: it has no runs"):
        assert archive.Archive("a.tar", members).runs


def test_the_same_content_gives_the_same_bytes(packed, shipped, tmp_path):
    Path("results/own/metrics/samples_figS6.parquet").touch()
    again, configs = tmp_path / "again.tar", (f"--config={name}" for name in shipped[1])
    out = ngo("archive", *SHOWN, *configs, "--out", str(again))
    assert again.read_bytes() == packed.read_bytes()
    assert hashlib.sha256(packed.read_bytes()).hexdigest() in out
    assert tar_of(archive.read_archive(packed).members) == packed.read_bytes()


def test_strangers_can_check_it_without_us(packed, tmp_path):
    (tmp_path / "by hand").mkdir()
    command = f"tar xf {packed} && sha256sum --check --strict --quiet SHA256SUMS"
    finished(start(["bash", "-c", command], cwd=tmp_path / "by hand"))


def test_a_config_whose_runs_are_not_here_is_refused(made):
    message = r"results/runs/sine-.*/run.json' does not exist"
    Path("more.yaml").write_text(yaml.safe_dump({"settings": {"sine": {"lr": 0.03}}}))
    with pytest.raises(UserError, match=message):
        collect([Path(name) for name in (*made, "more.yaml")], ["figS6"])


def test_a_changed_byte_anywhere_is_refused(packed, tmp_path):
    content = packed.read_bytes()
    broken = tmp_path / "broken.tar"
    for place in range(0, len(content), len(content) // 61):
        broken.write_bytes(
            content[:place] + bytes([content[place] ^ 1 << place % 8]) + content[place + 1 :]
        )
        with pytest.raises(UserError, match=r"^archive: '.*broken.tar' is refused: .*\.$") as told:
            archive.read_archive(broken)
        assert "\n" not in str(told.value)


PLUGIN = "from pathlib import Path\nPath('ran').touch()\n"

PAPER = {"title": "Own", "authors": "Someone", "address": "", "claim": "All holds."}


@pytest.fixture
def plugged(tmp_path, monkeypatch):
    """The members of an archive whose config names a plugin."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plugins, "_loaded", {})
    Path("archived_plugin.py").write_text(PLUGIN)
    table = {"topology": ["ring"], "workers": [4], "u": 0.4, "draws": 2, "seed": 0}  # the paper's
    more = {"plugins": ["archived_plugin.py"], "spectra": {"tableS1": table}}
    configs, planned = campaign(tmp_path, **more)
    spec = next(iter(planned.runs.values()))
    write_run(RUNS / spec.id, made_up_run(spec))
    members, _ = collect_finished(configs)
    forget()
    Path("ran").unlink()
    yield members
    forget()


def forget():
    plugins._loaded.clear()
    sys.modules.pop("ngo_plugin_archived_plugin", None)


def test_a_plugin_runs_only_if_it_is_trusted(plugged, tmp_path):
    Path("archived_plugin.py").write_text("raise SystemExit('a local file has run')")
    told, digest = [], hashlib.sha256(PLUGIN.encode()).hexdigest()
    named = f"'archived_plugin.py' \\(sha256 {digest}\\)"
    message = f"'a.tar' has the plugin {named}, which is code. Read it, and add --trust-plugins"
    with (
        pytest.raises(UserError, match=message),
        archived_plan(Archive("a.tar", plugged), trusted=False, tell=told.append),
    ):
        pass
    assert told == []
    assert not plugins.loaded()
    with archived_plan(Archive("a.tar", plugged), trusted=True, tell=told.append) as planned:
        folder = Path.cwd()
        assert folder != tmp_path
        assert (folder / "ran").exists()  # in the temporary folder
        assert len(planned.runs) == 4
    assert told == [f"runs the plugin 'archived_plugin.py' (sha256 {digest}) of the archive"]
    assert Path.cwd() == tmp_path
    assert not folder.exists()
    assert not Path("ran").exists()


def changed(members, **config):
    """The archive with another config."""
    whole = {**Archive("a.tar", members).about["config"], "plugins": [], **config}
    others = {name: content for name, content in members.items() if not name.endswith(".py")}
    return {**others, "config/config.yaml": yaml.safe_dump(whole).encode()}


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"tires": "a"}, "'tires' is unknown; allowed: "),
        ({"paper": {**PAPER, "name": "nowhere"}}, "paper.name: 'nowhere' is unknown; allowed: "),
        ({"paper": {**PAPER, "name": "../own"}}, "'../own'"),
        ({"claims": "other.yaml"}, "claims: 'other.yaml' does not exist"),
        ({"training": []}, "training: "),
    ],
)
def test_a_config_that_can_not_be_planned_is_refused(plugged, config, message):
    with (
        pytest.raises(UserError, match=f"^archive: 'a.tar' is refused: .*{message}") as told,
        archived_plan(Archive("a.tar", changed(plugged, **config)), trusted=False, tell=print),
    ):
        pass
    assert "\n" not in str(told.value)


REGISTERED = "config/reference/claims.registered.yaml"


def test_an_archive_may_have_the_registration_of_its_claims(plugged):
    form = {"form": "0" * 64, "date": "2026-11-22T12:00:00+00:00", "revision": ""}
    text = yaml.safe_dump({"claims": {"1": [form]}}).encode()
    archive = Archive("a.tar", {**changed(plugged), REGISTERED: text})
    with archived_plan(archive, trusted=False, tell=print) as planned:
        found = read_registration(registration_path(planned.claims))
        (entry,) = found["1"]
        assert (entry.form, entry.date.day) == ("0" * 64, 22)
