import pytest

from ngo.common.registry import UserError
from ngo.data.augmentation import AUGMENTATIONS, augmentation


def test_an_augmentation_is_registered_by_its_name(own_entries):
    @augmentation("flip")
    def flip(images, generator):
        return images.flip(3)

    assert AUGMENTATIONS["flip"] is flip
    assert AUGMENTATIONS["none"] is None
    with pytest.raises(UserError, match=r"augmentation: 'crop' is unknown"):
        AUGMENTATIONS["crop"]
