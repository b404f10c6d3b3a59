from command_line import ngo

CONFIG = ["--config", "config/config.yaml"]


def test_assumptions_are_printed_or_written(tmp_path):
    printed = ngo("assumptions", *CONFIG)
    out = ngo("assumptions", *CONFIG, "--out", tmp_path / "a.md", "--out", tmp_path / "a.html")
    assert f"values → {tmp_path / 'a.md'}, {tmp_path / 'a.html'}" in out
    assert (tmp_path / "a.md").read_text().strip() == printed.strip()
    assert "<table" in (tmp_path / "a.html").read_text()
