"""Build the wheel and the source distribution of ngo and of verdicts, and try them as a user would.

Both wheels are installed in clean environments outside the repository. There the README's first
example runs, and ``ngo train``, ``ngo methods`` and ``verdicts check``. ``make
release-check`` runs this script; the libraries have the versions of requirements.lock.
"""

import argparse
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
UV = Path(sys.executable).with_name("uv")
SECONDS = 1200  # the longest that one command may take; torch may have to be downloaded

# What makes the judge a project of its own.
NOT_PACKED = {f"verdicts/{name}" for name in ("CITATION.cff", "README.md", "pyproject.toml")}

EXAMPLE = REPOSITORY / "examples/verdicts/td3"
RUN = "train --dataset digits --method ngo --p 0.9 --gamma 0.3 --epochs 1 --out out"


def run(*command: object, at: Path, code: int = 0) -> str:
    """The output of a command in the folder ``at``; its error, if it must end with a ``code``.

    The repository is not on Python's path there.
    """
    hidden = ("PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    ended = subprocess.run(
        [*map(str, command)], cwd=at, env=environment, capture_output=True, text=True,
        timeout=SECONDS,
    )  # fmt: skip
    if ended.returncode != code:
        sys.exit(f"{' '.join(map(str, command))}\n{ended.stdout}{ended.stderr}")
    return ended.stderr if code else ended.stdout


def build(source: Path, out: Path) -> Path:
    """The wheel, built from the source distribution, of the project in ``source``."""
    run(UV, "build", "--quiet", "--out-dir", out, source, at=out.parent)
    (wheel,), (packed,) = out.glob("*.whl"), out.glob("*.tar.gz")
    with tarfile.open(packed) as archive, zipfile.ZipFile(wheel) as zipped:
        names = [*archive.getnames(), *zipped.namelist()]
    if strange := [name for name in names if re.search(r"(^|/)(tests|docs|results|papers)/", name)]:
        sys.exit(f"{wheel.name}: it contains {strange[0]}")
    packages = ("ngo", "verdicts") if source == REPOSITORY else ("verdicts",)
    tracked = run("git", "ls-files", *packages, at=REPOSITORY / "src").split()
    if lacking := sorted({*tracked} - {*names} - NOT_PACKED):
        sys.exit(f"{wheel.name}: it lacks {lacking[0]}")
    return wheel


def environment(python: str, place: Path, *packages: Path | str) -> Path:
    """The scripts of a new environment with packages and the libraries that they need."""
    run(UV, "venv", "--quiet", "--python", python, place, at=place.parent)
    pins = ("--constraint", REPOSITORY / "requirements.lock")
    into = ("--python", place / "bin/python")
    run(UV, "pip", "install", "--quiet", *into, *pins, *packages, at=place.parent)
    return place / "bin"


def main() -> None:
    """Build, install, try."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable, help="the interpreter to install for")
    options, readme = parser.parse_args(), (REPOSITORY / "README.md").read_text()
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        wheel = build(REPOSITORY, at / "dist-ngo")
        of_judge = build(REPOSITORY / "src/verdicts", at / "dist-judge")
        first = re.search(r"```python\n(.*?)```", readme, re.DOTALL)
        assert first, "README.md has no example in Python"
        (at / "example.py").write_text(first[1])
        judge = environment(options.python, at / "judge", of_judge)
        # matplotlib is for the example
        library = environment(options.python, at / "library", wheel, "matplotlib")
        check = ("check", EXAMPLE / "claims.yaml", "--tables", EXAMPLE)
        for scripts in (judge, library):
            told = run(scripts / "verdicts", *check, at=at)
            assert "Of 14 claims, 11 hold, 2 do not" in told, told
            paper = scripts.with_name("paper")
            run(scripts / "verdicts", "new", paper, "--judge", ".", at=at)
            assert (paper / ".github/workflows/check.yml").exists()
        print(run(library / "python", "example.py", at=at))
        run(library / "ngo", *RUN.split(), at=at)
        assert (at / "out/run.json").exists()
        assert "push_sum" in run(library / "ngo", "methods", at=at)
        print(run(library / "ngo", "runs", at=at, code=2).strip())
    print("The README's example, train, methods and verdicts check run outside the repository.")


if __name__ == "__main__":
    main()
