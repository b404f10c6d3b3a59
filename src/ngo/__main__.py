"""``python -m ngo`` is ``ngo``."""

from ngo.cli import main

main(prog_name="ngo")
