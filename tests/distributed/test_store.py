import socket
import threading
import time

import pytest
import torch.distributed as dist
from by_hand import free_port, started
from participants import store_here
from running import ended

from ngo.common.registry import UserError
from ngo.distributed import store as stores
from ngo.distributed.environment import Place
from ngo.distributed.store import Store, connect, within


@pytest.fixture
def stranger():
    """A function that opens a port whose connections get ``answer``; it returns the port."""
    open_sockets = []

    def answering(answer):
        server = socket.create_server(("127.0.0.1", 0))
        open_sockets.append(server)

        def serve():
            while True:
                try:
                    connection = server.accept()[0]
                    open_sockets.append(connection)
                    answer(connection)
                except OSError:
                    return

        threading.Thread(target=serve, daemon=True).start()
        return server.getsockname()[1]

    yield answering
    for each in open_sockets:
        each.close()


def place(port, me=1, address="127.0.0.1"):
    return Place(me, 2, address, port, local=1, holds_store=me == 0)


@pytest.mark.parametrize(
    "answer",
    [
        lambda connection: None,
        lambda connection: connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 9),
        lambda connection: connection.close(),
    ],
    ids=["silent", "another protocol", "closes"],
)
def test_a_stranger_on_the_port_is_not_waited_for(answer, stranger):
    port = stranger(answer)
    begin = time.monotonic()
    with pytest.raises(UserError) as error:
        connect(place(port), 0.5)
    assert time.monotonic() - begin < 10
    assert str(error.value) == (
        f"distributed: process 1 found no store of a run at 127.0.0.1:{port} in 0.5 s: process 0 "
        f"is not there, or another program has the port."
    )


def test_a_process_that_meets_a_silent_stranger_ends(stranger, tmp_path):
    """Its exit does not wait for torch, which has no time limit there."""
    process = started(tmp_path, 1, 2, stranger(lambda connection: None), "--timeout", "1")
    _, err = ended(process, 90)
    assert process.returncode == 2
    [line] = err.splitlines()
    assert "found no store of a run at 127.0.0.1" in line
    assert "in 1 s" in line


def test_an_unknown_address_is_named():
    with pytest.raises(UserError, match=r"at no\.such\.invalid:1 .*MASTER_ADDR has no known addr"):
        connect(place(1, address="no.such.invalid"), 0.2)


def test_a_port_in_use_is_named(stranger):
    port = stranger(lambda connection: None)
    line = f"^MASTER_PORT: {port} is in use, by another process 0 or another program; choose"
    with pytest.raises(UserError, match=line):
        connect(place(port, me=0), 5.0)


def test_a_store_that_stops_answering_is_not_waited_for(monkeypatch):
    port = free_port()
    held = connect(place(port, me=0), 20.0)
    other = connect(place(port), 20.0)
    held.set("key", "value")
    assert other.get("key") == "value"
    assert other.compare_set("key", "", "another") == "value"
    assert other.add("number", 2) == 2
    assert other.check(["key"])
    assert not other.check(["key", "absent"])
    assert isinstance(other.inner, dist.TCPStore)
    answers = threading.Event()
    silent = Store(dist.HashStore(), 0.2)
    monkeypatch.setattr(silent, "inner", type("", (), {"check": lambda *_: answers.wait()})())
    with pytest.raises(UserError, match="distributed: the store of the processes is unreachable"):
        silent.check(["key"])
    answers.set()


def test_a_long_string_is_refused(monkeypatch):
    monkeypatch.setattr(stores, "LONGEST", 10)
    store = store_here()
    store.set("key", "x" * 10)
    assert store.get("key") == "x" * 10
    store.set("key", "x" * 11)
    for read in (store.get, lambda key: store.compare_set(key, "", "y")):
        with pytest.raises(UserError, match="^distributed: 'key' in the store has 11 bytes: too"):
            read("key")


def test_bytes_that_are_no_text_are_read():
    store = store_here()
    store.inner.set("key", "\udcff\x00".encode("utf-8", "surrogatepass"))
    assert store.get("key").endswith("\x00")


def test_work_within_a_time_limit():
    assert within(20.0, max, 1, 2) == 2
    with pytest.raises(ZeroDivisionError):
        within(20.0, lambda: 1 / 0)
    with pytest.raises(TimeoutError):
        within(0.05, threading.Event().wait)
