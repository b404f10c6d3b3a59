import pytest
import torch

from ngo.common.seeding import torch_stream
from ngo.gossip.compression import from_bytes, pack, packed_size, to_bytes, unpack


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32, torch.int64])
def test_numbers_come_back_from_any_place_of_a_payload(dtype):
    numbers = (100 * torch.randn(3, 5, generator=torch_stream(0, "numbers"))).to(dtype)
    payload = to_bytes(numbers)
    assert payload.dtype == torch.uint8
    assert payload.shape == (3, 5 * dtype.itemsize)
    for rows in (3, 1, 0):
        shifted = torch.cat([torch.zeros(rows, 1).byte(), payload[:rows]], 1)
        assert torch.equal(from_bytes(shifted[:, 1:], dtype), numbers[:rows])


@pytest.mark.parametrize("bits", range(1, 9))
@pytest.mark.parametrize("d", [1, 7, 8, 9, 30])
def test_codes_are_packed_without_gaps(bits, d):
    codes = torch.randint(1 << bits, (4, d), generator=torch_stream(d, "codes")).byte()
    codes[0] = (1 << bits) - 1
    packed = pack(codes, bits)
    assert packed.shape == (4, packed_size(d, bits))
    assert packed_size(d, bits) == -(-d * bits // 8)
    assert torch.equal(unpack(packed, bits, d), codes)
    for row, its in zip(codes.tolist(), packed, strict=True):
        number = sum(code << k * bits for k, code in enumerate(row))
        assert its.numpy().tobytes() == number.to_bytes(packed_size(d, bits), "little")
    assert unpack(packed[:0], bits, d).shape == (0, d)
