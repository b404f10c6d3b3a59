import sys

import pytest
from running import finished, start

STATE = "import sys; print(sys.getswitchinterval())"


@pytest.mark.parametrize(
    ("code", "interval"),
    [
        ("from ngo.cli.cli import main; main(['data', 'digits'], standalone_mode=False)", 1e-4),
        ("from ngo.engine.population import Population; Population('toy_net', 2, 0)", 5e-3),
    ],
)
def test_commands_set_up_their_process_and_the_library_does_not(code, interval):
    out = finished(start([sys.executable, "-c", f"{code}; {STATE}"]))
    assert float(out.splitlines()[-1]) == pytest.approx(interval)


def test_freed_memory_is_kept_once_a_process_is_prepared():
    code = (
        "import numpy as np; from ngo.cli import log; log.prepare()\n"
        "def rss(): return int(open('/proc/self/statm').read().split()[1])\n"
        "x = np.ones(3 << 20); full = rss(); del x; print(full - rss())"
    )
    if sys.platform != "linux":
        pytest.skip("glibc only")
    freed = int(finished(start([sys.executable, "-c", code])))
    assert freed < 1000  # pages, of the 6144 of x; the kernel counts in batches
