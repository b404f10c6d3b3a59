"""How long does ``ngo train`` of a single step take, beside ``import torch``?"""

import subprocess
import sys
import tempfile
from functools import partial

from common import compare, options, show

TRAIN = "-m ngo train --dataset least_squares --method centralized --workers 1 --batch-size 1"


def main() -> None:
    """Print a table of the commands."""
    run = partial(subprocess.run, check=True, capture_output=True)
    with tempfile.TemporaryDirectory() as folder:
        commands = {"import torch": ["-c", "import torch"], "ngo --help": ["-m", "ngo", "--help"]}
        commands["ngo train"] = [*TRAIN.split(), "--epochs", "1e-9", "--out", folder]
        ways = {name: partial(run, [sys.executable, *words]) for name, words in commands.items()}
        show(compare(ways, "import torch", options(__doc__)))


if __name__ == "__main__":
    main()
