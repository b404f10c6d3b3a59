"""Plans from inside an archive; its plugins run only if they are trusted."""

import hashlib
import json
import sys
from pathlib import Path

import pytest
import yaml
from finished_runs import campaign, made_up_run

from ngo.common import plugins
from ngo.common.registry import UserError
from ngo.pipeline.archives.archive import Archive, archived_plan, named_members
from ngo.pipeline.archives.pack import collect_finished
from ngo.pipeline.archives.runs import write_run
from ngo.pipeline.paths import RUNS
from verdicts.registration import read_registration, registration_path

PLUGIN = "from pathlib import Path\nPath('ran').touch()\n"

PAPER = {"title": "Own", "authors": "Someone", "address": "", "claim": "All holds."}


@pytest.fixture
def made(tmp_path, monkeypatch):
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


def test_a_plugin_runs_only_if_it_is_trusted(made, tmp_path):
    Path("archived_plugin.py").write_text("raise SystemExit('a local file has run')")
    told, digest = [], hashlib.sha256(PLUGIN.encode()).hexdigest()
    named = f"'archived_plugin.py' \\(sha256 {digest}\\)"
    message = f"'a.tar' has the plugin {named}, which is code. Read it, and add --trust-plugins"
    with (
        pytest.raises(UserError, match=message),
        archived_plan(Archive("a.tar", made), trusted=False, tell=told.append),
    ):
        pass
    assert told == []
    assert not plugins.loaded()
    with archived_plan(Archive("a.tar", made), trusted=True, tell=told.append) as planned:
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
    about = json.loads(members["archive.json"])
    about["config"] = {**about["config"], "plugins": [], **config}
    text = yaml.safe_dump(about["config"]).encode()
    others = {name: each for name, each in members.items() if not name.endswith(".py")}
    described = {"archive.json": json.dumps(about).encode(), "config/config.yaml": text}
    return {**others, **described}


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
def test_a_config_that_can_not_be_planned_is_refused(made, config, message):
    with (
        pytest.raises(UserError, match=f"^archive: 'a.tar' is refused: .*{message}") as told,
        archived_plan(Archive("a.tar", changed(made, **config)), trusted=False, tell=print),
    ):
        pass
    assert "\n" not in str(told.value)


def naming(members, figure):
    about = {**json.loads(members["archive.json"]), "artefacts": [figure]}
    return Archive("a.tar", changed({**members, "archive.json": json.dumps(about).encode()}))


def test_a_figure_that_reads_more_tables_now_is_not_made(made):
    with archived_plan(naming(made, "throughput"), trusted=False, tell=print) as planned:
        assert "throughput" not in planned.artefacts
    message = "names a figure that its config and the paper do not have"
    with (
        pytest.raises(UserError, match=message),
        archived_plan(naming(made, "nothing"), trusted=False, tell=print),
    ):
        pass


REGISTERED = "config/reference/claims.registered.yaml"


def test_an_archive_may_have_the_registration_of_its_claims(made):
    form = {"form": "0" * 64, "date": "2026-11-22T12:00:00+00:00", "revision": ""}
    designs = {"test": {"table1": [form]}}
    text = yaml.safe_dump({"claims": {"1": [form]}, "designs": designs}).encode()
    archive = Archive("a.tar", {**changed(made), REGISTERED: text})
    with archived_plan(archive, trusted=False, tell=print) as planned:
        found = read_registration(registration_path(planned.claims))
        for (entry,) in (found.claims["1"], found.designs["test"]["table1"]):
            assert (entry.form, entry.date.day) == ("0" * 64, 22)
    for wrong in (
        b"claims: {a: 1}",
        b"{claims: {}, designs: {a: {b: 1}}}",
        b"[",
        text.replace(b"0000", b"../.", 1),
    ):
        with (
            pytest.raises(UserError, match=r"^archive: 'a.tar' is refused: .*registered") as told,
            archived_plan(
                Archive("a.tar", {**changed(made), REGISTERED: wrong}), trusted=False, tell=print
            ),
        ):
            pass
        assert "\n" not in str(told.value)


def test_an_archive_carries_the_registration_that_is_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own").mkdir()
    (tmp_path / "own/claims.yaml").write_text("claims: {}\n")
    configs, planned = campaign(tmp_path, claims="own/claims.yaml")
    place = registration_path(planned.claims)
    assert place.as_posix() == "own/claims.registered.yaml"
    assert str(place) not in named_members(planned)
    place.write_text("claims: {}\n")
    assert named_members(planned)[str(place)] == place
    spec = next(iter(planned.runs.values()))
    write_run(RUNS / spec.id, made_up_run(spec))
    members, _ = collect_finished(configs)
    assert members["own/claims.registered.yaml"] == b"claims: {}\n"


def test_other_members_than_the_configs_are_refused(made):
    for name in ("results/test/metrics/other.parquet", "results/data/mnist.json", "more.yaml"):
        with (
            pytest.raises(UserError, match=f"'{name}' is no part of an archive of its config"),
            archived_plan(
                Archive("a.tar", {**changed(made), name: b""}), trusted=False, tell=print
            ),
        ):
            pass
    with archived_plan(Archive("a.tar", changed(made)), trusted=False, tell=print) as planned:
        assert planned.tier == "test"
