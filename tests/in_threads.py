"""Processes of a distributed run as threads of the test: their networks, without connections."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from queue import Empty, SimpleQueue

from ngo.distributed.process_network import ProcessNetwork
from ngo.native.pool import in_order

LIMIT = 20.0  # seconds that a message may take


class ThreadGroup:
    """A ``meeting.Group`` whose messages go through queues."""

    def __init__(self, me, size, queues):
        self.me, self.size, self.sent = me, size, Counter()
        self._queues = queues

    @property
    def others(self):
        return [q for q in range(self.size) if q != self.me]

    def exchange(self, like, send, receive):
        for q, rows in send.items():
            self._queues[self.me, q].put(rows.clone())
            self.sent.update(models=len(rows), bytes=rows.numel() * rows.element_size())
        try:
            received = {q: self._queues[q, self.me].get(timeout=LIMIT) for q in receive}
        except Empty:
            raise AssertionError(f"process {self.me} waits for {list(receive)}") from None
        for q, rows in received.items():
            assert (len(rows), rows.dtype) == (receive[q], like.dtype)
            assert rows.shape[1:] == like.shape[1:]
        return received


def networks(workers, processes):
    """The network of each process."""
    queues = {pair: SimpleQueue() for pair in product(range(processes), repeat=2)}
    groups = [ThreadGroup(me, processes, queues) for me in range(processes)]
    return [ProcessNetwork(group, workers, in_order) for group in groups]


def together(*calls):
    """The results of functions that wait for each other's messages."""
    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(lambda call: call(), calls))
