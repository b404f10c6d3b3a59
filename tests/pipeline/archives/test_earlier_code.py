import os
import subprocess
import sys

import pytest
from conftest import REPOSITORY
from running import finished, start

from ngo.pipeline.archives.earlier_code import earlier_package


def head() -> str:
    answer = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    if answer.returncode:
        pytest.skip("not a git checkout")
    return answer.stdout.strip()


def test_the_package_of_a_revision_is_unpacked(tmp_path):
    package = earlier_package(f"{head()}-dirty", tmp_path)
    assert package == tmp_path / head() / "src"
    assert (package / "ngo/__init__.py").is_file()


def test_it_has_all_that_a_fingerprint_covers(tmp_path):
    package = earlier_package(head(), tmp_path)
    code = "from ngo.common.fingerprint import OURS; print([each.is_dir() for each in OURS])"
    environment = os.environ | {"PYTHONPATH": str(package)}
    output = finished(start([sys.executable, "-P", "-c", code], env=environment))
    assert output == "[True, True]\n"


@pytest.mark.parametrize(
    "source", [None, "unknown", "0" * 40, "HEAD", "--output=x", f"{'a' * 40}\n", 7]
)
def test_what_is_no_commit_before_this_one_is_refused(tmp_path, source):
    assert earlier_package(source, tmp_path) is None
    assert list(tmp_path.iterdir()) == []
