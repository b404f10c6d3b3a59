"""The command ``ngo``, also as ``python -m ngo``."""

import gc


def main() -> None:
    """Run the command line.

    Most commands take a second or two, a third of it spent looking for garbage among what they
    import: it is looked for seldom, and not at the end.
    """
    from ngo.cli.cli import main as cli
    from verdicts.cli import lenient_streams

    gc.set_threshold(100_000, 50, 100)
    try:
        with lenient_streams("ngo"):
            cli(prog_name="ngo")
    finally:
        gc.freeze()


if __name__ == "__main__":
    main()
