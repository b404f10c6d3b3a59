from ngo.gossip.lr_schedule import LR_SCHEDULES


def test_the_factor_is_one_throughout():
    assert [LR_SCHEDULES["constant"](share) for share in (0, 0.3, 0.999)] == [1, 1, 1]
