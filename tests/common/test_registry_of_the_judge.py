"""The library's registries and errors are the judge's."""

import verdicts
from ngo.common import registry
from verdicts.registry import Registry


def test_one_error_and_one_kind_of_registry_serve_both():
    assert registry.UserError is verdicts.UserError
    assert registry.Registry is Registry
