"""A metrics archive: its members, its description, its bytes and its plan."""

import hashlib
import json
import sys
from pathlib import Path

import pytest
import yaml
from cases import cases, refused
from conftest import REPOSITORY
from finished_runs import campaign, made_up_run
from running import finished, start
from shipped_plans import planned
from two_figures import SHOWN, ngo, two_figures

from ngo.common import plugins
from ngo.pipeline.archives import archive
from ngo.pipeline.archives.archive import Archive, archived_plan, collect, described
from ngo.pipeline.archives.finished_runs import METRICS, RECORDS, write_run
from ngo.pipeline.config import read_config
from ngo.pipeline.paths import RUNS
from verdicts.members import ARCHIVE, kind_of, tar_of
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
PLUGGED = {"tier": "own", "plugins": ["./a.py", "b.yaml"], "data": {"root": "/anywhere"}}
OUTSIDE = ["/etc/passwd", "../a", "a/../b", "~/a", "C:/a", "\\\\host\\a", "a/.."]
RULES = list((REPOSITORY / "workflow/rules").glob("*.smk"))
SOURCES = {"Snakefile", "workflow/Snakefile", *(f"workflow/rules/{path.name}" for path in RULES)}
PLUGIN = "from pathlib import Path\nPath('ran').touch()\n"
PAPER = {"title": "Own", "authors": "Someone", "address": "", "claim": "All holds."}
REGISTERED = "config/reference/claims.registered.yaml"


def test_members_are_of_a_kind_with_a_bound_and_results_code_and_settings_are_none():
    for name in ALLOWED:
        assert kind_of(name).bound <= ARCHIVE
    for name in REFUSED:
        refused("is no part of an archive", kind_of, name)


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


def described_by(config=PLUGGED, text=None, **changes):
    """An archive with this description, and a config file that has the same config."""
    about = {"artefacts": ["claims"], "whole": True, "configs": ["config/config.yaml"], **changes}
    own = {"a.py": b"", "b.yaml": b"", "config/config.yaml": text or json.dumps(config).encode()}
    return {**own, "archive.json": json.dumps(about).encode()}


@cases(
    "change, message",
    ({"whole": 1}, "'whole' is 1, which is no bool"),
    ({"artefacts": [["a"]]}, "is no name"),
    ({"configs": ["/etc/config.yaml"]}, "is not in the archive"),
    ({"configs": ["b.yaml"]}, "the first config must be 'config/config.yaml'"),
)
def test_a_wrong_value_is_named(change, message):
    refused(message, described, described_by(**change))


def test_the_config_is_that_of_the_config_files():
    assert described(described_by())["config"] == PLUGGED
    for text in (b"a: [", b"a: 1\na: 2", b"[1]", b"\xff", b"a: !!python/name:os.system ''"):
        refused(r"^config: 'config/config.yaml'", described, described_by(text=text))
    for named in ("a.py", [1], [["a.py"]]):
        with pytest.raises(UserError, match="plugins: .* must be a list of files"):
            described(described_by({**PLUGGED, "plugins": named}))


@pytest.mark.parametrize("path", OUTSIDE)
def test_a_path_outside_of_the_archive_is_refused_anywhere(path):
    runs = {"training": {"a": {"compare": [{"graph": [path]}]}}}
    for more in ({"claims": path}, {"defaults": {"graph": path}}, {"plugins": [path]}, runs):
        about = described_by({**PLUGGED, **more})
        refused("its config names a path outside of it", described, about)


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
    assert (about["tier"], about["artefacts"], about["whole"]) == ("own", SHOWN, False)
    assert about["configs"] == ["config/config.yaml", "config/demo.yaml", "config/own.yaml"]
    assert read.about["config"] == read_config(made)
    runs = read.runs
    assert set(runs) == {spec.id for spec in planned.training["figS6"]}
    assert len(runs) == about["runs"]
    rest = set(members) - inputs - {"archive.json", *about["configs"]}
    texts = ("claims", "claims.registered", "findings")
    texts = (f"config/reference/{name}.yaml" for name in texts)
    files = {"results/data/sine.json", *texts, *map(str, planned.ledger.printed)}
    assert rest == {METRICS, RECORDS, *SOURCES, *files}


def test_measurements_alone_have_no_runs_and_runs_that_are_not_here_are_refused(made):
    members = collect([Path(name) for name in made], ["tableS1"])
    assert not {METRICS, RECORDS} & set(members)
    with pytest.raises(UserError, match="'a.tar' is refused: it has no runs"):
        assert archive.Archive("a.tar", members).runs
    message = r"results/runs/sine-.*/run.json' does not exist"
    Path("more.yaml").write_text(yaml.safe_dump({"settings": {"sine": {"lr": 0.03}}}))
    refused(message, collect, [Path(name) for name in (*made, "more.yaml")], ["figS6"])


def test_the_same_content_gives_the_same_bytes_which_strangers_can_check(packed, shipped, tmp_path):
    Path("results/own/metrics/samples_figS6.parquet").touch()
    again, configs = tmp_path / "again.tar", (f"--config={name}" for name in shipped[1])
    out = ngo("archive", *SHOWN, *configs, "--out", str(again))
    assert again.read_bytes() == packed.read_bytes()
    assert hashlib.sha256(packed.read_bytes()).hexdigest() in out
    assert tar_of(archive.read_archive(packed).members) == packed.read_bytes()
    (tmp_path / "by hand").mkdir()
    command = f"tar xf {packed} && sha256sum --check --strict --quiet SHA256SUMS"
    finished(start(["bash", "-c", command], cwd=tmp_path / "by hand"))


def test_a_changed_byte_anywhere_is_refused(packed, tmp_path):
    content = packed.read_bytes()
    broken = tmp_path / "broken.tar"
    for place in range(0, len(content), len(content) // 61):
        changed = bytearray(content)
        changed[place] ^= 1 << place % 8
        broken.write_bytes(changed)
        refused(r"^archive: '.*broken.tar' is refused: .*\.$", archive.read_archive, broken)


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
    members, _ = archive.collect_finished(configs)
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
    archive, how = Archive("a.tar", plugged), {"trusted": False, "tell": told.append}
    with pytest.raises(UserError, match=message), archived_plan(archive, **how):
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


@cases(
    "config, message",
    ({"tires": "a"}, "'tires' is unknown; allowed: "),
    ({"paper": {**PAPER, "name": "nowhere"}}, "paper.name: 'nowhere' is unknown; allowed: "),
    ({"paper": {**PAPER, "name": "../own"}}, "'../own'"),
    ({"claims": "other.yaml"}, "claims: 'other.yaml' does not exist"),
    ({"training": []}, "training: "),
)
def test_a_config_that_can_not_be_planned_is_refused(plugged, config, message):
    message = f"^archive: 'a.tar' is refused: .*{message}"
    archive, how = Archive("a.tar", changed(plugged, **config)), {"trusted": False, "tell": print}
    with pytest.raises(UserError, match=message), archived_plan(archive, **how):
        pass


def test_an_archive_may_have_the_registration_of_its_claims(plugged):
    form = {"form": "0" * 64, "date": "2026-11-22T12:00:00+00:00", "revision": ""}
    text = yaml.safe_dump({"claims": {"1": [form]}}).encode()
    archive = Archive("a.tar", {**changed(plugged), REGISTERED: text})
    with archived_plan(archive, trusted=False, tell=print) as planned:
        (entry,) = read_registration(registration_path(planned.claims))["1"]
        assert (entry.form, entry.date.day) == ("0" * 64, 22)
