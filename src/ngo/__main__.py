"""The command ``ngo``, also as ``python -m ngo``."""


def main() -> None:
    """Run the command line."""
    from ngo.cli.cli import main as cli

    cli(prog_name="ngo")


if __name__ == "__main__":
    main()
