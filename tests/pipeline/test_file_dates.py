import asyncio

import snakemake.api  # noqa: F401 (Snakemake's modules import each other in this order)
from snakemake.dag import DAG
from snakemake.io import _IOFile

from ngo.pipeline import file_dates


def test_no_file_is_newer_than_another_and_none_is_too_new(tmp_path, monkeypatch):
    monkeypatch.setattr(_IOFile, "is_newer", _IOFile.is_newer)
    monkeypatch.setattr(DAG, "check_output_mtime", DAG.check_output_mtime)
    file_dates.ignore()
    assert asyncio.run(_IOFile.is_newer(None, 0)) is False
    assert asyncio.run(DAG.check_output_mtime(None, None, None)) is None
