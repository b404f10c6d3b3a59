import os

import pytest
import torch
from participants import LIMIT, end, ended_within, wait_for

from ngo.common.registry import UserError
from ngo.distributed.mailbox import Mailbox
from ngo.distributed.meeting import open_meeting
from ngo.distributed.processes import launch


def mailbox_of_two():
    meeting = open_meeting(20.0)
    group = meeting.join_group(backend="gloo", timeout=8.0)
    return Mailbox(group), meeting.store, meeting.me


def exchange_rows_and_reports():
    mailbox, store, me = mailbox_of_two()
    other = 1 - me
    for step in range(50):
        mailbox.post(other, me, step, torch.full((3,), float(step)))
    mailbox.post_report(other, 7, torch.arange(4, dtype=torch.float64))
    mailbox.wait_for(lambda: mailbox.newest.get(other, (0,))[0] == 49 and mailbox._reports)
    assert mailbox.newest[other][1].tolist() == [49.0] * 3
    heard = mailbox._heard[other]
    mailbox.wait_for(lambda: mailbox._heard[other] > heard)  # a heartbeat
    assert not mailbox.lost()
    mailbox.drop_unsent()
    mailbox.say_goodbye()
    [(source, step, report)] = mailbox.take_reports()
    assert (source, step, report.tolist()) == (other, 7, [0, 1, 2, 3])
    assert mailbox.take_reports() == []
    sent = mailbox.group.traffic()
    assert 1 <= sent["gossip", "models"] <= 50
    assert sent["gossip", "bytes"] == 12 * sent["gossip", "models"]
    assert sent["reports", "bytes"] == 32
    assert not mailbox.lost()
    store.set("written", "")


def lose_the_other():
    mailbox, store, me = mailbox_of_two()
    if me == 1:
        wait_for(lambda: mailbox.newest)
        end()
    mailbox.post(1, 0, 0, torch.ones(3))
    wait_for(lambda: mailbox.lost() == {1})
    mailbox.say_goodbye()  # returns although the other never says it
    wait_for(lambda: store.check(["ended/1"]))  # the launcher has noticed it first
    os._exit(7)


def test_the_newest_row_and_every_report_arrive():
    with ended_within(LIMIT):
        launch(exchange_rows_and_reports, 2, timeout=20.0, on_failure="stop")


def test_a_broken_connection_is_noticed():
    message = "process 1 of 2 was killed by SIGKILL"
    with ended_within(LIMIT), pytest.raises(UserError, match=message):
        launch(lose_the_other, 2, timeout=20.0, on_failure="stop")
