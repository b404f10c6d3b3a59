"""The command ``ngo``, also as ``python -m ngo``."""

import os
import sys


def main() -> None:
    """Run the command line, which is not even imported where a warm process does the job."""
    if "NGO_WARM" in os.environ:
        from ngo import warm

        code = warm.ask(os.environ["NGO_WARM"], sys.argv)
        if code is not None:
            sys.exit(code)
    from ngo.cli import main as cli

    cli(prog_name="ngo")


if __name__ == "__main__":
    main()
