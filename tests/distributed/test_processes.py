import json
import logging
import os
import sys
from functools import partial

import numpy as np
import psutil
import pytest
from participants import (
    LIMIT,
    at_step,
    convex_spec,
    distributed,
    ended_within,
    spec_of,
    stderr_to,
    surroundings,  # noqa: F401
)

from ngo.common import plugins
from ngo.common.registry import UserError
from ngo.distributed.meeting import open_meeting
from ngo.distributed.processes import launch


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


def report_plugins(file):
    meeting = open_meeting(20.0)
    stderr_to(file.parent / "errors", None, lambda: None)
    logging.getLogger("ngo").warning("process %d", meeting.me)
    (file.parent / f"{file.name}{meeting.me}").write_text(
        " ".join(p.module for p in plugins.loaded())
    )
    meeting.store.set("written", "")


def test_processes_load_the_plugins_of_their_parent(tmp_path, monkeypatch):
    """Before they unpickle their work, which may refer to a plugin."""
    monkeypatch.setattr(plugins, "_loaded", {})
    file = tmp_path / "launched_plugin.py"
    file.write_text("class Wrapped:\n    def __call__(self):\n        self.work()\n")
    plugins.load([file])
    work = sys.modules["ngo_plugin_launched_plugin"].Wrapped()
    work.work = partial(report_plugins, tmp_path / "plugins")
    with ended_within(LIMIT):
        launch(work, 2, timeout=20.0, on_failure="stop")
    for me in (0, 1):
        assert (tmp_path / f"plugins{me}").read_text() == "ngo_plugin_launched_plugin"
    assert sorted((tmp_path / "errors").read_text().splitlines()) == ["process 0", "process 1"]


def test_a_plugin_that_fails_in_a_process_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(plugins, "_loaded", {})
    file = tmp_path / "changed_plugin.py"
    file.write_text("")
    plugins.load([file])
    file.write_text("1 / 0")
    message = "changed_plugin.py' can't be imported: ZeroDivisionError, line 1"
    with ended_within(LIMIT), pytest.raises(UserError, match=message):
        launch(partial(report_plugins, tmp_path / "plugins"), 2, timeout=5.0, on_failure="stop")
