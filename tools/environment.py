"""Write environment.yml, the conda environment with the versions of requirements.lock.

The packages come from the same registry as the lock's, through conda's pip section, so that both
ways of installing give the same bytes of torch. Run by ``make lock``.
"""

import re
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]

HEADER = """\
# Made from pyproject.toml and requirements.lock by `make lock`; the versions are the lock's.
name: ngo
channels:
  - conda-forge
dependencies:
  - python={python}
  - pip
  - pip:
"""


def locked(lock: str = "requirements.lock") -> dict[str, str]:
    """The version of each package in a lock."""
    text = (REPOSITORY / lock).read_text(encoding="utf-8")
    return dict(re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", text, flags=re.MULTILINE))


def project() -> dict:
    """The project table of pyproject.toml."""
    return tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def direct() -> list[str]:
    """The packages that pyproject.toml asks for, those for development included."""
    wanted = project()["dependencies"] + project()["optional-dependencies"]["dev"]
    return sorted(re.match(r"[A-Za-z0-9._-]+", name).group().lower() for name in wanted)


def environment() -> str:
    """The text of environment.yml."""
    versions = locked()
    python = re.match(r">=(\d+\.\d+)", project()["requires-python"]).group(1)
    lines = [f"      - {name}=={versions[name]}" for name in direct()]
    return HEADER.format(python=python) + "\n".join([*lines, "      - --editable ."]) + "\n"


if __name__ == "__main__":
    (REPOSITORY / "environment.yml").write_text(environment(), encoding="utf-8")
