"""Settings of the memory allocator and the interpreter, for the processes of the command line.

Both apply to a whole process. A program that imports ``ngo`` as a library keeps its settings.
"""

from ngo.native import pool


def prepare() -> None:
    """Keep freed memory for the next step, and switch between threads sooner."""
    pool.keep_memory()
    pool.quick_switching()
