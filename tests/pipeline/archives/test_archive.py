"""A metrics archive: the same content gives the same bytes, and any change in it is refused."""

import hashlib
import json
import sys
from pathlib import Path

import pytest
import yaml
from conftest import REPOSITORY
from running import finished, start
from two_figures import SHOWN, ngo, two_figures

from ngo.common import plugins
from ngo.common.registry import UserError
from ngo.pipeline.archives import archive
from ngo.pipeline.archives.archive import CRATE
from ngo.pipeline.archives.pack import collect
from ngo.pipeline.archives.runs import METRICS, RECORDS
from ngo.pipeline.config import read_config
from ngo.pipeline.plan import plan
from verdicts.quantity_registry import QUANTITIES, Quantity

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
    assert about["config"] == read_config(made)
    runs = read.runs
    assert set(runs) == {spec.id for spec in planned.training["figS6"]}
    assert len(runs) == about["runs"]
    rest = set(members) - inputs - {"archive.json", *about["configs"]}
    named = {
        f"config/reference/{name}.yaml" for name in ("claims", "claims.registered", "findings")
    }
    named |= {str(path) for path in planned.ledger.printed}
    files = {"results/data/sine.json", *named}
    assert rest == {METRICS, RECORDS, CRATE, *SOURCES, *files}


def test_it_contains_the_configs_plugins(made, tmp_path, monkeypatch):
    monkeypatch.setattr(plugins, "_loaded", {})
    (tmp_path / "packed_plugin.py").write_text("NAME = 1\n")
    (tmp_path / "own.yaml").write_text("tier: own\nplugins: [./packed_plugin.py]\n")
    members = collect([Path(name) for name in made], SHOWN)
    assert members["packed_plugin.py"] == b"NAME = 1\n"
    (tmp_path / "own.yaml").write_text(f"tier: own\nplugins: [{tmp_path}/packed_plugin.py]\n")
    with pytest.raises(UserError, match="plugins: '/.*' is outside the working directory"):
        collect([Path(name) for name in made], SHOWN)
    del sys.modules["ngo_plugin_packed_plugin"]


def test_the_claims_come_with_every_table_that_they_name(made, tmp_path, monkeypatch):
    own_level = Quantity("own_level", lambda rows: rows, cases=False)
    monkeypatch.setitem(QUANTITIES, "own_level", own_level)
    claim = {"place": "Table 1", "says": "NGO learns", "kind": "bound", "shows": "figS6",
             "quantity": "own_level", "above": 0}  # fmt: skip
    claims = {"a": {**claim, "from": ["figS6", "samples_figS6"]}, "b": {**claim, "from": "fig5"}}
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/claims.yaml").write_text(yaml.safe_dump({"claims": claims}))
    own = {"tier": "own", "claims": "mine/claims.yaml", "training": {"fig5": None}}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(own))
    members = collect([Path(name) for name in made], ["claims"])
    assert "results/own/metrics/samples_figS6.parquet" in members
    assert members["mine/claims.yaml"] == (tmp_path / "mine/claims.yaml").read_bytes()
    runs = archive.Archive("a.tar", members).runs
    assert set(runs) == {spec.id for spec in plan(read_config(made)).training["figS6"]}


def test_an_archive_of_measurements_has_no_runs(made):
    members = collect([Path(name) for name in made], ["tableS1"])
    assert not {METRICS, RECORDS, CRATE} & set(members)
    with pytest.raises(UserError, match="'a.tar' is refused: it has no runs"):
        assert archive.Archive("a.tar", members).runs


def test_the_same_content_gives_the_same_bytes(packed, shipped, tmp_path):
    Path("results/own/metrics/samples_figS6.parquet").touch()
    again, configs = tmp_path / "again.tar", (f"--config={name}" for name in shipped[1])
    out = ngo("archive", *SHOWN, *configs, "--out", str(again))
    assert again.read_bytes() == packed.read_bytes()
    assert hashlib.sha256(packed.read_bytes()).hexdigest() in out
    assert archive.tar_of(archive.read_archive(packed).members) == packed.read_bytes()


def test_strangers_can_check_it_without_us(packed, tmp_path):
    (tmp_path / "by hand").mkdir()
    command = f"tar xf {packed} && sha256sum --check --strict --quiet SHA256SUMS"
    finished(start(["bash", "-c", command], cwd=tmp_path / "by hand"))


def test_a_config_whose_runs_are_not_here_is_refused(made):
    message = r"results/runs/sine-.*/run.json' can't be read: No such file"
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


def test_a_changed_file_is_named_with_both_sums(packed, tmp_path):
    name = "results/data/sine.json"
    content = packed.read_bytes()
    wanted, found = (hashlib.sha256(b).hexdigest() for b in (b"{}", b"[]"))
    (tmp_path / "a.tar").write_bytes(content.replace(b"\0{}\0", b"\0[]\0"))
    message = f"'{name}' is not as in SHA256SUMS .expected sha256 {wanted}, found {found}"
    with pytest.raises(UserError, match=message):
        archive.read_archive(tmp_path / "a.tar")


def test_it_is_rebuilt_in_the_repository_only(packed):
    assert "no Snakefile in this folder" in ngo("rebuild", str(packed), code=2)
