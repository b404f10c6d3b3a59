"""``ngo describe``: make a data set of a folder of images or a file of arrays."""

from __future__ import annotations

from pathlib import Path

import click

from ngo.cli.field_options import data_root_option
from ngo.cli.parameters import RESULT, ROOT, FieldType
from ngo.common.fields import Field, within
from ngo.common.files import write_text
from ngo.common.registry import UserError, unknown
from ngo.data import download
from ngo.data.described import OWNER, ROLES

PIXELS = FieldType(Field(int, "pixels", within(1, 4096)))


@click.command()
@click.argument("path", type=ROOT)
@data_root_option
@click.option("--name", help="Name of the data set  [default: that of the file or folder]")
@click.option(
    "--size",
    nargs=2,
    type=PIXELS,
    metavar="HEIGHT WIDTH",
    help="Size to which images are resized, in pixels.",
)
@click.option("--grey", is_flag=True, help="Read images as grey: one channel in place of three.")
@click.option(
    "--array",
    "arrays",
    multiple=True,
    metavar="ROLE=NAME",
    help=f"Array of a file that has another name; roles: {', '.join([*ROLES, OWNER])}  "
    "[may be repeated]",
)
@click.option("--out", type=RESULT, required=True, help="Description to write (YAML).")
def describe(
    path: Path,
    data_root: Path | None,
    name: str | None,
    size: tuple[int, int] | None,
    grey: bool,
    arrays: tuple[str, ...],
    out: Path,
) -> None:
    """Describe your own data set, so that configs can name it.

    PATH is a folder of images, with a folder for each class in PATH/train and PATH/test (or
    PATH/val); or a file of arrays (.npz, .h5) with x_train, y_train, x_test and y_test, and
    owner_train if samples have owners. The description has the size, the shape and a digest of the
    data; commands read it with --plugin, and configs name it among their plugins.

    Describe the arrays of a file:
      ngo describe flowers.npz --out flowers.yaml
    """
    from ngo.data.describe import as_text
    from ngo.data.describe import describe as describe_data

    if out.resolve().suffix != ".yaml":
        raise UserError(f"out: {str(out.resolve())!r} must end in .yaml.")
    values = describe_data(
        path,
        download.data_root(data_root),
        name=name or path.resolve().stem,
        size=size,
        grey=grey,
        arrays=dict(map(_role, arrays)),
    )
    write_text(out, as_text(values))
    shape = " × ".join(map(str, values["input_shape"]))
    kind = f"{values['classes']} classes" if values["classes"] else "no classes"
    owners = ", with owners" if OWNER in values.get("arrays", {}) else ""
    click.echo(
        f"{values['dataset']}: {values['train_samples']:,} training samples of {shape}, {kind}"
        f"{owners} → {out}"
    )


def _role(text: str) -> tuple[str, str]:
    role, _, name = text.partition("=")
    if role not in (*ROLES, OWNER):
        raise unknown("array", role, [*ROLES, OWNER])
    if not name:
        raise UserError(f"array: {text!r} names no array; write {role}=NAME.")
    return role, name
