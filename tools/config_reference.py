"""Write the config's schema, and the table of fields in config/README.md (``make schema``)."""

from pathlib import Path

from ngo.pipeline import schema
from ngo.pipeline.field_table import field_table, with_table

REPOSITORY = Path(__file__).parents[1]
PAGE = REPOSITORY / "config/README.md"


def files() -> dict[Path, str]:
    """The generated files and their texts."""
    page = PAGE.read_text(encoding="utf-8")
    return {
        REPOSITORY / schema.SCHEMA: schema.as_yaml(),
        PAGE: with_table(page, "fields", field_table()),
    }


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
