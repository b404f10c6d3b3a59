import torch
from rates import check_rate, check_uniform

from ngo.common.seeding import torch_stream
from ngo.data.augmentation import PADDING, crop_flip


def coded(b, size=8):
    """Images whose pixels tell row and column: 1 + row in channel 0, 1 + column in channel 1."""
    rows = torch.arange(1, size + 1, dtype=torch.uint8)
    image = torch.stack([rows[:, None].expand(-1, size), rows[None].expand(size, -1)])
    return image.expand(b, -1, -1, -1).contiguous()


def test_each_image_is_a_window_of_its_padded_self_flipped_or_not():
    images = coded(400)
    padded = torch.nn.functional.pad(images, [PADDING] * 4)
    found = crop_flip(images, torch_stream(0, "test"))
    windows = padded.unfold(2, 8, 1).unfold(3, 8, 1)[0].permute(1, 2, 0, 3, 4).flatten(0, 1)
    either = torch.stack([windows, windows.flip(3)])  # [2, 81, 2, 8, 8]
    same = (found[:, None, None] == either[None]).flatten(3).all(3)
    assert same.flatten(1).sum(1).eq(1).all()
    assert 150 < same[:, 1].sum() < 250, "about half of the images are flipped"
    counts = same.any(1).sum(0)
    assert (counts > 0).sum() > 75, "nearly all of the 81 positions occur in 400 draws"


def test_the_stream_decides_and_the_images_stay():
    images = torch.randint(0, 256, (16, 3, 12, 12), dtype=torch.uint8)
    before = images.clone()
    one, two = (crop_flip(images, torch_stream(seed, "test")) for seed in (1, 2))
    assert torch.equal(one, crop_flip(images, torch_stream(1, "test")))
    assert not torch.equal(one, two)
    assert torch.equal(images, before)
    assert one.dtype == torch.uint8


def test_flips_and_positions_have_their_rates():
    b, size = 400_000, 10
    found = crop_flip(coded(b, size), torch_stream(0, "test"))
    # Row and column 4 to 5 of a window are never black.
    row, left, right = found[:, 0, 4, 4].int(), found[:, 1, 4, 4].int(), found[:, 1, 4, 5].int()
    flipped = left > right
    assert ((left - right).abs() == 1).all()
    check_rate(int(flipped.sum()), b, 0.5)
    across, down = torch.where(flipped, right, left), row
    counts = torch.zeros(9, 9).index_put((across - across.min(), down - down.min()),
                                         torch.ones(b), accumulate=True)  # fmt: skip
    check_uniform(counts.numpy())
