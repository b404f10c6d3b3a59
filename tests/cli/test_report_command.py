"""``ngo report``; tests/pipeline/test_report_contents.py has the page's contents."""

from command_line import mistake, ngo
from made_up_page import contents

from ngo.pipeline import report_contents

CONFIG = ["--config", "config/config.yaml"]


def test_the_page_is_written(tmp_path, monkeypatch):
    def made(configs):
        assert [path.name for path in configs] == ["config.yaml"]
        return contents(tmp_path)

    monkeypatch.setattr(report_contents, "report_contents", made)
    out = ngo("report", *CONFIG, "--out", tmp_path / "report.html")
    assert f"5 claims, 3 tables and figures → {tmp_path / 'report.html'}" in out
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert html.startswith("<!doctype html>")
    assert html.endswith("</html>\n")


def test_a_page_replaces_no_config(tmp_path, monkeypatch):
    made = contents(tmp_path)
    monkeypatch.setattr(report_contents, "report_contents", lambda configs: made)
    assert "must end in .html" in mistake("report", *CONFIG, "--out", tmp_path / "claims.yaml")
    assert "is the file of config" in mistake("report", *CONFIG, "--out", CONFIG[1])


def test_results_that_are_absent_are_one_line(tmp_path):

    (tmp_path / "own.yaml").write_text("tier: never-made\n")
    line = mistake(
        "report", *CONFIG, "--config", tmp_path / "own.yaml", "--out", tmp_path / "r.html"
    )
    assert "claims: 'results/never-made/tables/claims.csv' does not exist" in line
    assert not (tmp_path / "r.html").exists()
