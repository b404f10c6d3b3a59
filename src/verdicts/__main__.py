"""``python -m verdicts``."""

import sys

from verdicts.cli import main

sys.exit(main())
