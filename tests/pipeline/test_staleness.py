"""Keys of what is drawn, measured and judged, and of data."""

from dataclasses import dataclass

from shipped_plans import planned

from ngo.common import versions
from ngo.common.fields import file
from ngo.common.registries import TOPOLOGIES
from ngo.measures.measurement import MEASUREMENTS, Measurement
from ngo.pipeline import staleness
from ngo.training.spec_checks import resolve


def measured(**changes):
    return staleness.measurement("spectra", {"topology": ["ring"], **changes}, [])


def test_code_is_the_bytes_of_folders(tmp_path, monkeypatch):
    def code(*folders):
        staleness.code.cache_clear()  # as in another process
        return staleness.code(*folders)

    for name in ("ngo/plots", "ngo/gossip"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "a.py").write_text("A = 1\n")
    monkeypatch.setattr(staleness, "PACKAGE", tmp_path / "ngo")
    before = code("ngo/plots")
    (tmp_path / "ngo/plots/__pycache__").mkdir()
    (tmp_path / "ngo/plots/__pycache__/a.pyc").write_text("compiled")
    (tmp_path / "ngo/gossip/a.py").write_text("A = 2\n")
    assert code("ngo/plots") == before
    (tmp_path / "ngo/plots/template.html").write_text("<p>")
    assert code("ngo/plots") != before
    staleness.code.cache_clear()


def test_a_figure_follows_the_libraries_that_draw(monkeypatch):
    before = staleness.artefact("fig4", [])
    assert staleness.artefact("fig4", []) == before != staleness.artefact("fig5", [])
    monkeypatch.setattr(versions, "installed", lambda names: dict.fromkeys(names, "99.0"))
    assert staleness.artefact("fig4", []) != before


def test_a_measurement_follows_its_values_number_libraries_and_plugins(tmp_path, monkeypatch):
    plugin = tmp_path / "mine.py"
    plugin.write_text("")
    installed = versions.installed()
    ring = {"topology": ["ring"]}
    found = [measured(), measured(draws=3), staleness.measurement("theory", ring, [])]
    found.append(staleness.measurement("spectra", ring, [plugin]))
    libraries = "ngo.common.versions.installed", lambda *_: {**installed, "numpy": "99.0"}
    for place, value in (("ngo.training.results_version.RESULTS_VERSION", 10**6), libraries):
        with monkeypatch.context() as patched:
            patched.setattr(place, value)
            found.append(measured())
    monkeypatch.setitem(MEASUREMENTS.versions, "spectra", 2)
    found.append(measured())
    assert len(set(found)) == len(found)
    monkeypatch.undo()
    assert measured() == found[0]


def test_a_measurement_follows_the_numbers_of_the_entries_that_it_uses(monkeypatch):
    def keys():
        kept = [resolve({"dataset": "digits", "model": "mnist_fc", "topology": "ring"})]
        trained = {"dataset": "digits", "method": ["gossip"]}
        return {
            "ring": measured(topology=["star", "ring"]),
            "kept": staleness.measurement("samples", {}, [], kept),
            "figure": staleness.artefact("fig4", []),
            "star": measured(topology=["star"]),
            "none": staleness.measurement("samples", {}, []),
            "trained": staleness.measurement("throughput", trained, []),
        }

    before = keys()
    monkeypatch.setitem(TOPOLOGIES.versions, "ring", 2)
    changed = {name for name, key in keys().items() if key != before[name]}
    # Throughput is of runs with the default topology unless its setting has another.
    assert changed == {"ring", "kept", "figure", "trained"}


def test_a_measurement_follows_the_file_that_an_option_names(tmp_path, monkeypatch):
    @dataclass(frozen=True)
    class Read:
        file: str = file("a file")

    monkeypatch.setitem(MEASUREMENTS, "read", Measurement("read", Read, lambda options: None))
    place, found = tmp_path / "graph.txt", set()
    for text in ("0 1", "1 2"):
        place.write_text(text)
        found.add(staleness.measurement("read", {"file": str(place)}, []))
    assert len(found) == 2


def test_the_page_follows_the_texts_that_no_rule_makes(tmp_path):
    demo = planned("config/demo.yaml")
    text = tmp_path / "findings.yaml"
    text.write_text("a")
    findings, claims = str(text), str(tmp_path / "claims.yaml")
    before = staleness.page(demo.claims, findings)
    assert before != staleness.page(demo.claims, demo.findings)
    text.write_text("b")
    assert staleness.page(demo.claims, findings) != before
    (tmp_path / "claims.yaml").write_text("claims: {}\n")
    before = staleness.page(claims, findings)
    staleness.registration_path(claims).write_text("{}")
    assert staleness.page(claims, findings) != before
