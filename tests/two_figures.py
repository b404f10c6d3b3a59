"""The inputs of two figures, for archives: a measured one, and a trained one with samples."""

import shutil
from pathlib import Path

import pandas as pd
import yaml
from click.testing import CliRunner
from finished_runs import made_up_run

from ngo.cli import cli
from ngo.pipeline.archives.finished_runs import write_run
from ngo.pipeline.config import read_config
from ngo.pipeline.paths import REPOSITORY
from ngo.pipeline.plan import plan

SHOWN = ["tableS1", "figS6"]


def two_figures(folder: Path) -> list[str]:
    """Make what both are made from in ``folder``, the working directory; returns the configs."""
    shutil.copytree(REPOSITORY / "config", "config")
    shutil.copytree(REPOSITORY / "workflow/rules", "workflow/rules")
    shutil.copy(REPOSITORY / "workflow/Snakefile", "workflow/Snakefile")
    shutil.copy(REPOSITORY / "Snakefile", "Snakefile")
    (folder / "own.yaml").write_text(yaml.safe_dump({"tier": "own"}))
    configs = ["config/config.yaml", "config/demo.yaml", "own.yaml"]
    (folder / "results/own/metrics").mkdir(parents=True)
    for name in ("spectra_tableS1", "samples_figS6"):
        pd.DataFrame({"x": [name]}).to_parquet(f"results/own/metrics/{name}.parquet")
    (folder / "results/data").mkdir()
    (folder / "results/data/sine.json").write_text("{}")
    for spec in plan(read_config(configs)).training["figS6"]:
        write_run(folder / "results/runs" / spec.id, made_up_run(spec))
        (folder / "results/runs" / spec.id / "models.pt").write_bytes(b"weights")
    return configs


def ngo(*arguments: str, code: int = 0) -> str:
    """The output of a command."""
    answer = CliRunner().invoke(cli.main, arguments)
    assert answer.exit_code == code, answer.output
    return answer.output


def packed(configs: list[str]) -> Path:
    """The archive of both."""
    ngo("archive", *SHOWN, *(f"--config={name}" for name in configs), "--out", "own.tar")
    return Path("own.tar").resolve()
