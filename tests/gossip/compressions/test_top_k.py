import pytest
import torch
from compression_cases import D, codec_of, rows, sent


@pytest.mark.parametrize("kept", [0.01, 0.2, 1.0])
def test_the_largest_entries_are_sent_as_they_are(kept):
    z = rows()
    found = sent(codec_of("top_k", kept_share=kept), z)
    k = max(1, round(kept * D))
    assert ((found != 0).sum(1) == k).all()
    assert torch.equal(found[found != 0], z[found != 0])
    for row, left in zip(found, z - found, strict=True):
        assert row[row != 0].abs().min() >= left.abs().max()
