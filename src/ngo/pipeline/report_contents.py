"""The contents of a tier's page of results, from its tables, figures and the records of runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from jinja2 import Environment, StrictUndefined, TemplateError

from ngo.common.registry import UserError
from ngo.pipeline.archives.archive import ABOUT, OLDER
from ngo.pipeline.artefacts import ARTEFACTS, CLAIMS, Artefact, tier_folder
from ngo.pipeline.config_files import read_config
from ngo.pipeline.plan import plan
from ngo.report.contents import Contents, Shown, text
from ngo.report.findings import findings
from ngo.report.provenance import provenance
from verdicts.row import read_rows


def report_contents(
    configs: Sequence[Path],
    captions: Path,
) -> Contents:
    """The contents of the page of the tier that ``configs`` describe.

    ``captions`` is the folder with a description of each table and figure (``ID.rst``). The results
    are read from the working directory; tables and figures are read only when a page is made.
    Raises a UserError for the first file that is absent.
    """
    config = read_config(configs)
    planned = plan(config)
    folder = Path(tier_folder(planned.tier))
    left_out = set(ARTEFACTS) - set(planned.artefacts)
    rows = [
        replace(row, shows="") if row.shows in left_out else row
        for row in read_rows(folder / f"tables/{CLAIMS}.csv")
    ]
    # The ledger comes after what it judges.
    entries = sorted(planned.artefacts.items(), key=lambda item: item[0] == CLAIMS)
    contents = Contents(
        tier=planned.tier,
        rows=rows,
        findings=findings(rows, planned.findings),
        shown=[
            _shown(name, entry, folder, caption(captions / f"{name}.rst", config))
            for name, entry in entries
        ],
        ledger=CLAIMS,
        assumptions=folder / "tables/assumptions",
        older=older(Path(ABOUT)),
        provenance=provenance(records(planned.shown_runs), map(_named, configs), planned.plugins),
    )
    contents.check()
    return contents


def older(path: Path) -> str:
    """The revisions that made an archive, if ``path``, its description, marks it; else empty.

    Results that were not unpacked from an archive have no such file.
    """
    if not path.exists():
        return ""
    return str(json.loads(text(path)).get(OLDER, ""))


def records(runs: Iterable[str]) -> list[dict]:
    """The records of runs, ordered by id."""
    return [json.loads(text(Path(f"results/runs/{run}/run.json"))) for run in sorted(runs)]


def caption(path: Path, config: Mapping) -> str:
    """The description of a table or figure, without the paragraph that names the tier."""
    try:
        template = Environment(undefined=StrictUndefined).from_string(text(path))
        rendered = template.render(snakemake={"config": config})
    except TemplateError as error:
        raise UserError(f"captions: {str(path)!r}: {error}.") from None
    return rendered.strip().removesuffix(f"Tier {config['tier']}.").strip()


def _named(config: Path) -> str:
    """A config file as it is named in the repository and in archives."""
    return f"config/{config.name}"


def _shown(name: str, entry: Artefact, folder: Path, about: str) -> Shown:
    return Shown(
        name=name,
        title=entry.title,
        section=entry.section,
        about=about,
        figures=tuple(folder / f"figures/{each}.png" for each in entry.figures),
        tables=tuple(folder / f"tables/{each}" for each in entry.tables),
    )
