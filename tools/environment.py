"""Write environment.yml and workflow/envs/ngo.yaml, with the versions of requirements.lock.

pip installs the packages, from the same registry as those of the lock, so that both environments
contain the same build of torch. ``make lock`` runs this script.
"""

import re
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]

#: The name of a package.
NAME = r"[A-Za-z0-9._-]+"


def environment(*extras: str) -> str:
    """The packages that pyproject.toml lists, with those of ``extras`` but without ngo itself."""
    lock = (REPOSITORY / "requirements.lock").read_text(encoding="utf-8")
    versions = dict(re.findall(rf"^({NAME})==([^\s;\\]+)", lock, flags=re.MULTILINE))
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    python = project["requires-python"].removeprefix(">=").partition(",")[0]
    lists = [project["dependencies"], *(project["optional-dependencies"][name] for name in extras)]
    names = {re.match(NAME, package)[0].lower() for packages in lists for package in packages}
    lines = [f"      - {name}=={versions[name]}\n" for name in sorted(names - {project["name"]})]
    head = Path(__file__).with_name("environment.head.yml").read_text(encoding="utf-8")
    return head.format(python=python) + "".join(lines)


def texts() -> dict[str, str]:
    """The environment for development, and that of jobs, where a script installs ngo."""
    return {
        "environment.yml": environment("pipeline", "dev") + "      - --editable .\n",
        "workflow/envs/ngo.yaml": environment("pipeline"),
    }


if __name__ == "__main__":
    for name, text in texts().items():
        (REPOSITORY / name).write_text(text, encoding="utf-8")
