import json
import shutil

from command_line import mistake, ngo
from conftest import CONFIGS


def test_runs_lists_what_a_config_trains():
    configs = ["--config", "config/config.yaml", "--config", "config/demo.yaml"]
    text = ngo("runs", *configs)
    assert "table1: 28 runs\n  digits-iid-centralized-s0-" in text
    assert "demo: 135 runs of 19 experiments on " in text.splitlines()[-1]
    table = json.loads(ngo("runs", *configs, "--json"))
    assert len({row["id"] for row in table}) == 135
    assert sum(row["experiment"] == "table1" for row in table) == 28


def test_runs_finds_mistakes_in_claims(tmp_path, caplog):
    claims, own = tmp_path / "claims.yaml", tmp_path / "mine.yaml"
    configs = ["--config", "config/config.yaml", "--config", "config/demo.yaml", "--config", own]
    own.write_text(f"tier: mine\nclaims: {claims}\n")
    ngo("runs", *configs)
    assert f"claims: {str(claims)!r} is not there yet" in caplog.text
    claims.write_text(
        "claims: {a: {place: x, says: y, kind: order, from: table1, quantity: level,"
        " with: {value: acuracy}, above: 0}}"
    )
    assert mistake("runs", *configs).startswith("claims.a.with.value: 'acuracy' is unknown")


def test_runs_alone_lists_the_tiers_and_names_files_that_are_no_tiers(tmp_path, monkeypatch):
    (tmp_path / "config").mkdir()
    for path in (CONFIGS[0], CONFIGS[2]):
        shutil.copy(path, tmp_path / "config")
    (tmp_path / "config/more.yaml").write_text("services: {}\n")
    monkeypatch.chdir(tmp_path)
    lines = ngo("runs").splitlines()
    tiers = [line.partition(":")[0] for line in lines]
    assert tiers == [
        "paper",
        "demo",
        "config/more.yaml is not a tier on its own",
    ]
