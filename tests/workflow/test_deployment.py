"""Jobs in a conda environment or an image: what Snakemake asks of ``conda``, by a stand-in.

Neither conda nor apptainer is started here.
"""

import os
import sys

import pytest
from clone import REPOSITORY, assert_one_line
from running import snakemake

CONDA = f"""#!/usr/bin/env bash
echo "$*" >> "$STAND_IN/calls"
case "$*" in
  "info --json") echo '{{"conda_prefix": "'$STAND_IN'", "platform": "linux-64"}}';;
  --version) echo conda 25.1.0;;
  config*) echo '{{"get": {{"channel_priority": "strict"}}}}';;
  *create*) while [ "$1" != --prefix ]; do shift; done
    mkdir -p "$2/bin"
    printf '#!/bin/sh\\necho "$*" >> "$STAND_IN/installed"\\n' > "$2/bin/python"
    job='echo "$1 $PYTHONPATH" >> "$STAND_IN/jobs"'
    printf "#!/bin/sh\\n$job\\n"'exec {sys.executable} -m ngo "$@"\\n' > "$2/bin/ngo"
    chmod +x "$2/bin/python" "$2/bin/ngo";;
esac
"""


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """A folder with the stand-in for ``conda`` in ``bin``; it notes how it is called."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/conda").write_text(CONDA)
    (tmp_path / "bin/conda").chmod(0o755)
    (tmp_path / "bin/activate").write_text('export PATH="$1/bin:$PATH"\n')
    (tmp_path / "config").symlink_to(REPOSITORY / ".test/config")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin", prepend=os.pathsep)
    monkeypatch.setenv("STAND_IN", str(tmp_path))
    return tmp_path


def test_jobs_run_in_the_environment_with_the_code_of_the_repository(stand_in):
    snakemake(REPOSITORY, "--directory", stand_in, "fig3", "--sdm", "conda")
    assert (stand_in / "calls").read_text().count("env create") == 1
    installed = (stand_in / "installed").read_text().strip()
    assert installed == f"-m pip install --no-deps --editable {REPOSITORY}"
    jobs = [line.split(" ", 1) for line in (stand_in / "jobs").read_text().splitlines()]
    assert jobs == [[name, str(REPOSITORY / "src")] for name in ("consensus", "notebook")]
    assert (stand_in / "results/smallest/figures/fig3.png").stat().st_size


def test_an_image_that_is_not_built_is_one_line(stand_in):
    if (REPOSITORY / "workflow/envs/ngo.sif").exists():
        pytest.skip("the image is there")
    asked = ("--directory", stand_in, "-n", "fig3", "--sdm", "apptainer")
    said = snakemake(REPOSITORY, *asked, code=1)
    assert_one_line(said, "^ngo: container: .*; build it in .*: apptainer build ")
