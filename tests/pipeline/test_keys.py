import os
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import CONFIGS, REPOSITORY
from finished_runs import made_up_run
from ngo.common.fingerprint import PACKAGE
from shipped_plans import planned

from ngo.common import versions
from ngo.common.fields import file
from ngo.data.partition import partition
from ngo.pipeline.archives.packed_runs import write_run
from ngo.pipeline.config_files import read_config
from ngo.pipeline.keys import PAGE_TEXTS, Keys, _sha256, content, key
from ngo.pipeline.plan import plan
from ngo.training.resolve import resolve
from verdicts.quantity_registry import QUANTITIES, Quantity


@pytest.fixture(scope="module")
def keys():
    return Keys(planned("config/demo.yaml"))


def test_every_product_of_the_demo_has_a_key_of_its_own(keys):
    measured = [
        f"{kind}_{name}" for kind, entries in keys.plan.measures.items() for name in entries
    ]
    shown = [f"classes_{name}" for name in keys.plan.partitions]
    tables = {name: keys.table(name) for name in ["runs", *keys.plan.training, *measured, *shown]}
    runs = {name: keys.run(name) for name in keys.plan.runs}
    partitions = {name: keys.partition(name) for name in keys.plan.partition_runs}
    for found in (tables, runs, partitions):
        assert len(set(found.values())) > len(found) / 2  # two experiments may have the same runs
    assert len(set(runs.values())) == len(runs)


def test_a_figures_key_follows_its_values_and_its_own_file_alone(tmp_path, monkeypatch):
    for name in ("papers", "config/reference"):
        shutil.copytree(REPOSITORY / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    config = read_config([CONFIGS[0], CONFIGS[2]])

    def keys_of(**changes):
        now = Keys(plan({**config, **changes}))
        return {name: now.artefact(name) for name in ("fig4", "table1", "claims")}

    def differ(after):
        return {name for name, key in after.items() if key != before[name]}

    before = keys_of()
    assert keys_of() == before
    assert differ(keys_of(tier="other")) == {"fig4", "table1", "claims"}
    path = tmp_path / "papers/ngo/figures/fig4.py"
    text = path.read_text()
    path.write_text(text.replace("plots.panels(5", "plots.panels(6"))
    assert differ(keys_of()) == {"fig4"}
    path.write_text(text.replace("Look at", "See"))
    assert differ(keys_of()) == {"fig4"}
    path.write_text(f"{text}\n# A comment.\n")
    assert differ(keys_of()) == set()


def test_the_page_follows_what_is_on_it_and_the_texts(keys, tmp_path):
    text = tmp_path / "fig1.rst"
    text.write_text("a")
    assert keys.page(["a"], [text]) == keys.page(["a"], [text])
    assert keys.page(["a"], [text]) != keys.page(["b"], [text])
    other = tmp_path / "other.rst"
    other.write_text("b")
    assert keys.page(["a"], [text]) != keys.page(["a"], [other])
    for name in PAGE_TEXTS:
        assert (PACKAGE / "report/page" / name).exists()


def test_a_table_follows_its_runs(keys):
    fewer = replace(keys.plan, training={"table1": keys.plan.training["table1"][1:]})
    assert Keys(fewer).table("table1") != keys.table("table1")


def test_the_table_of_claims_follows_its_file_and_its_quantities(keys, tmp_path, monkeypatch):
    def changed(content, definition="ngo.analysis.apart:pooled"):
        monkeypatch.setitem(QUANTITIES, "own", Quantity("own", lambda rows: rows, cases=False))
        monkeypatch.setitem(QUANTITIES.definitions, "own", definition)
        path = tmp_path / "claims.yaml"
        path.write_text(content)
        monkeypatch.setattr("ngo.pipeline.keys.content", lambda paths: path.read_text())
        return Keys(replace(keys.plan, claims=str(path))).artefact("claims")

    text = "claims: {a: {place: x, says: y, kind: bound, from: table1, quantity: own, above: 0}}"
    found = {
        changed("claims: {}"),
        changed(text),
        changed(text.replace("0", "1")),
        changed(text, "ngo.analysis.row_order:ordered"),
    }
    assert len(found) == 4
    assert changed(text) in found


def test_the_keys_of_a_run_and_of_a_partition_follow_the_files_that_they_name(
    own_entries, tmp_path
):
    def owners(labels, n, *, owner_file, generator):
        return np.array_split(np.arange(len(labels)), n)

    partition("of_a_file", options={"owner_file": file("who owns what")})(owners)
    (tmp_path / "graph.edgelist").write_text("0 1\n")
    (tmp_path / "owners.csv").write_text("0\n")
    values = {"partition": "of_a_file", "owner_file": str(tmp_path / "owners.csv")}
    values |= {"topology": "graph_file", "graph": str(tmp_path / "graph.edgelist"), "workers": 2}
    spec = resolve(values)

    def keys_now():
        _sha256.cache_clear()  # as in another process
        plan = SimpleNamespace(
            runs={spec.id: spec},
            partition_runs={spec.partition_id: spec},
            mixed_versions="refuse",
        )
        keys = Keys(plan)
        return keys.run(spec.id), keys.partition(spec.partition_id)

    first = keys_now()
    assert keys_now() == first
    (tmp_path / "graph.edgelist").write_text("1 0\n")
    second = keys_now()
    assert second[0] != first[0]
    assert second[1] == first[1]
    (tmp_path / "owners.csv").write_text("1\n")
    assert keys_now()[1] != second[1]


def test_nothing_waits_for_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("")
    found = content([tmp_path / "pipe", tmp_path / "none", tmp_path / "file"])
    assert [value is None for value in found.values()] == [True, True, False]


def test_a_key_is_of_all_its_parts():
    assert key("a", ["b"]) == key("a", ["b"])
    assert len({key("a", "b"), key("a", ["b"]), key("ab"), key("b", "a")}) == 4
    assert len(key()) == 16


def test_a_files_content_counts_and_its_absence(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("1")
    assert content([path]) != content([tmp_path / "absent.csv"])
    assert content([tmp_path / "absent.csv"]) == {str(tmp_path / "absent.csv"): None}


@pytest.fixture
def upgraded(monkeypatch):
    """A function that installs another version of torch."""

    def upgrade():
        here = {**versions.installed(), "torch": "99.0"}
        monkeypatch.setattr(versions, "installed", lambda: here)

    return upgrade


def test_another_version_of_a_library_trains_and_measures_again(keys, upgraded):
    run, spectra = next(iter(keys.plan.runs)), ("spectra", "tableS1")
    before = keys.run(run), keys.table("table1"), keys.measurement(*spectra)
    upgraded()
    new = Keys(keys.plan)
    after = new.run(run), new.table("table1"), new.measurement(*spectra)
    assert not set(before) & set(after)
    assert new.partition(keys.plan.runs[run].partition_id) == keys.partition(
        keys.plan.runs[run].partition_id
    )


def test_where_tables_may_mix_versions_a_finished_run_stays(keys, upgraded, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    telling = replace(keys.plan, mixed_versions="tell")
    finished, changed, missing = list(keys.plan.runs)[:3]
    write_run(Path("results/runs", finished), made_up_run(keys.plan.runs[finished]))
    run = made_up_run(keys.plan.runs[changed])
    run.record["about"]["code"] = "0" * 16
    write_run(Path("results/runs", changed), run)
    before = {name: keys.run(name) for name in (finished, changed, missing)}
    assert {name: Keys(telling).run(name) for name in before} == before
    upgraded()
    after = Keys(telling)
    stays = {name: after.run(name) == key for name, key in before.items()}
    assert stays == {finished: True, changed: False, missing: False}
    Path("results/runs", finished, "run.json").write_text("[")
    assert Keys(telling).run(finished) != before[finished]
