"""Write the notebooks of all papers, for readers (``make notebooks``); the workflow makes its own.

The parameters are those of the paper's own config, or of the first of its tiers that makes the
figure.
"""

import json
from collections.abc import Iterable
from contextlib import chdir
from pathlib import Path

from ngo.pipeline.config_files import read_config, tiers
from ngo.pipeline.plan import plan
from ngo.plots.notebook import notebook

REPOSITORY = Path(__file__).parents[1]


def files() -> dict[Path, str]:
    """The notebooks by path, as JSON."""
    found: dict[Path, str] = {}
    with chdir(REPOSITORY):
        for configs in tiers():
            planned = plan(read_config(configs))
            for name, entry in planned.artefacts.items():
                book = notebook(entry, planned.parameters(name))
                text = json.dumps(book, indent=1, ensure_ascii=False) + "\n"
                found.setdefault(REPOSITORY / planned.paper.notebooks / f"{name}.ipynb", text)
    return found


def others(made: Iterable[Path]) -> list[Path]:
    """Notebooks that are not among those ``made``: their figure or table is gone."""
    folders = [REPOSITORY / "notebooks", *REPOSITORY.glob("papers/*/notebooks")]
    return sorted({path for folder in folders for path in folder.glob("*.ipynb")} - {*made})


if __name__ == "__main__":
    written = files()
    for path in others(written):
        path.unlink()
    for path, text in written.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
