import pytest
import torch
from stand_in import PLACE, Card, OnCard, on_host

from ngo.common.transfers import sent


@pytest.fixture
def card(monkeypatch):
    """A stand-in for a GPU."""
    card = Card()
    for name, part in card.cuda().items():
        monkeypatch.setattr(torch.cuda, name, part)
    return card


def test_a_tensor_is_sent_without_waiting(card):
    x = torch.arange(3.0)
    with card:
        there = sent(x, PLACE)
        assert isinstance(there, OnCard)
        assert not card.waits
        assert torch.equal(on_host(there), x)
        assert sent(there, PLACE) is there


def test_a_tensor_stays_on_its_device():
    x = torch.arange(3.0)
    assert sent(x, x.device) is x
