"""The command ``ngo``, also as ``python -m ngo``."""

import os
import sys


def main() -> None:
    """Run the command line, or have the prefork server do it, which needs no further imports."""
    if "NGO_WARM" in os.environ:
        from ngo.cli import prefork

        code = prefork.ask(os.environ["NGO_WARM"], sys.argv)
        if code is not None:
            sys.exit(code)
    from ngo.cli.cli import main as cli

    cli(prog_name="ngo")


if __name__ == "__main__":
    main()
