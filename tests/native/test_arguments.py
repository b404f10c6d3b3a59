import pytest
import torch

from ngo.native.arguments import check_tensor, pointers


def test_a_tensor_that_fits_passes():
    check_tensor("x", torch.zeros(2, 3), (2, 3))
    check_tensor("W", torch.zeros(2, 2, dtype=torch.float64), (2, 2), torch.float64)


@pytest.mark.parametrize(
    ("x", "found"),
    [
        (torch.zeros(3, 2), r"torch.float32 \[3, 2\] on cpu"),
        (torch.zeros(2, 3, dtype=torch.float64), r"torch.float64 \[2, 3\] on cpu"),
        (torch.zeros(3, 2).T, r"strided torch.float32 \[2, 3\] on cpu"),
        (torch.zeros(2, 3, device="meta"), r"torch.float32 \[2, 3\] on meta"),
    ],
)
def test_another_shape_type_layout_or_device_is_refused(x, found):
    expected = r"x must be a contiguous torch.float32 \[2, 3\] on the CPU; it is a "
    with pytest.raises(ValueError, match=f"^{expected}{found}$"):
        check_tensor("x", x, (2, 3))


def test_pointers_are_the_addresses_of_the_data():
    x = torch.zeros(3)
    assert pointers(x, None, x[1:]) == [x.data_ptr(), None, x.data_ptr() + 4]
