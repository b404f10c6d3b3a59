"""Processes of a distributed run as threads of the test: their networks, without connections."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from queue import Empty, SimpleQueue

from ngo.distributed.meeting import PeerUnreachable
from ngo.distributed.process_network import ProcessNetwork
from ngo.native.pool import in_order

LIMIT = 20.0  # seconds that a message may take


class ThreadGroup:
    """A ``meeting.Group`` whose messages go through queues; ``lost`` processes are silent."""

    def __init__(self, me, size, queues, lost):
        self.me, self.members, self.sent = me, tuple(range(size)), Counter()
        self._queues, self._lost = queues, lost

    @property
    def others(self):
        return [q for q in self.members if q != self.me]

    def exchange(self, like, send, receive):
        for q, rows in send.items():
            self._queues[self.me, q].put(rows.clone())
            self.sent.update(models=len(rows), bytes=rows.numel() * rows.element_size())
        if self._lost & {*send, *receive}:
            raise PeerUnreachable("a process is lost")
        try:
            received = {q: self._queues[q, self.me].get(timeout=LIMIT) for q in receive}
        except Empty:
            raise AssertionError(f"process {self.me} waits for {list(receive)}") from None
        for q, rows in received.items():
            assert (len(rows), rows.dtype) == (receive[q], like.dtype)
            assert rows.shape[1:] == like.shape[1:]
        return received

    def rejoin(self):
        """After a loss: messages that nobody has taken are gone."""
        for q in self.members:
            self._queues[q, self.me] = SimpleQueue()
        self.members = tuple(q for q in self.members if q not in self._lost)


def networks(workers, processes):
    """The network of each process, and the set of lost processes, empty at first."""
    queues = {pair: SimpleQueue() for pair in product(range(processes), repeat=2)}
    lost = set()
    groups = [ThreadGroup(me, processes, queues, lost) for me in range(processes)]
    return [ProcessNetwork(group, workers, in_order) for group in groups], lost


def together(*calls):
    """The results of functions that wait for each other's messages, or their PeerUnreachable."""

    def tried(call):
        try:
            return call()
        except PeerUnreachable as error:
            return error

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(tried, calls))
