from dataclasses import replace

import pytest
import torch
from runs import digits_run

from ngo.common.registry import UserError
from ngo.training.outputs import check_outputs
from ngo.training.problem import make_problem


def test_a_model_with_too_few_outputs_is_refused_and_no_stream_is_drawn_from(digits):
    spec = digits_run()
    before = torch.get_rng_state()
    check_outputs(spec, make_problem(spec, digits))
    eleven = make_problem(spec, replace(digits, classes=11))
    with pytest.raises(UserError, match="'mnist_cnn' has 10 outputs, but .* has 11 classes"):
        check_outputs(spec, eleven)
    assert torch.equal(torch.get_rng_state(), before)
