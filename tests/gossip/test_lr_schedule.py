import pytest

from ngo.common.registry import UserError
from ngo.gossip.lr_schedule import LR_SCHEDULES, lr_schedule


def test_a_schedule_is_registered_by_its_name(own_entries):
    @lr_schedule("halved")
    def halved(share):
        return 0.5

    assert LR_SCHEDULES["halved"] is halved
    with pytest.raises(UserError, match=r"lr_schedule: 'cosin' is unknown.*Did you mean 'cosine'"):
        LR_SCHEDULES["cosin"]
