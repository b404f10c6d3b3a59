import json
import os
from functools import partial

import numpy as np
import psutil
import pytest
from participants import (
    at_step,
    convex_spec,
    distributed,
    spec_of,
    stderr_to,
    surroundings,  # noqa: F401
)

from ngo.common.registry import UserError


def test_a_mistake_is_reported_once(tmp_path):
    parts = [np.arange(1000), np.arange(1000, 1427), np.arange(1427, 1437)]
    scenario = partial(stderr_to, tmp_path / "errors", None)
    with pytest.raises(UserError, match="batch_size: 16 is larger than worker 2's share of 10"):
        distributed(spec_of(workers=3), 3, tmp_path, scenario, parts=parts)
    assert (tmp_path / "errors").read_text() == ""


def note_listeners(launcher, file):
    """Write down where the processes of a launcher listen, and the interface that they use."""
    started = psutil.Process(launcher).children(recursive=True)
    sockets = [
        (process.pid, connection.laddr.ip)
        for process in [psutil.Process(launcher), *started]
        for connection in process.net_connections(kind="inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    file.write_text(json.dumps([sockets, os.environ["GLOO_SOCKET_IFNAME"]]))


def test_processes_on_one_machine_listen_on_the_loopback_address_only(tmp_path, monkeypatch):
    monkeypatch.delenv("GLOO_SOCKET_IFNAME", raising=False)
    file = tmp_path / "listeners"
    noted = partial(note_listeners, os.getpid(), file)
    distributed(convex_spec(workers=2, epochs=0.01), 2, tmp_path, partial(at_step, 1, 0, noted))
    sockets, interface = json.loads(file.read_text())
    assert len({process for process, _ in sockets}) == 3  # the launcher's store, and two processes
    assert {address for _, address in sockets} == {"127.0.0.1"}
    # gloo's default is the address of the host's name, which may be the same.
    assert "127.0.0.1" in {address.address for address in psutil.net_if_addrs()[interface]}
