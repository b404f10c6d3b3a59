"""The runs and cases that decide a claim."""

from dataclasses import replace

import pytest
from conftest import REPOSITORY

from ngo.common.registry import UserError
from ngo.pipeline.archives.verify import bases
from ngo.pipeline.config import read_config
from ngo.pipeline.plan import plan


@pytest.fixture(scope="module")
def planned():
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(REPOSITORY)
        found = plan(read_config(["config/config.yaml", "config/laptop.yaml"]))
        assert found.ledger  # read in this folder
        return found


def basis(planned, claim, measured=()):
    (found,) = bases([claim], planned, {each.id: each for each in measured})
    return found


def test_a_difference_rests_on_both_sides_and_no_other_runs(planned):
    found = basis(planned, "37-mnist-noniid")
    specs = [planned.runs[name] for name in found.runs]
    assert {spec.method for spec in specs} == {"gossip", "ngo"}
    assert {(spec.dataset, spec.partition) for spec in specs} == {("mnist", "shards")}
    sides = [spec for spec in planned.training["table1"] if spec.method in ("gossip", "ngo")]
    wanted = {spec.id for spec in sides if (spec.dataset, spec.partition) == ("mnist", "shards")}
    assert set(found.runs) == wanted


def test_a_table_that_can_not_be_made_again_is_named(planned):
    assert basis(planned, "5").unchecked == ["alignment_fig2"]


def test_a_pooled_claim_rests_on_what_its_claims_rest_on(planned):
    ids = ("37-mnist-noniid", "37-mnist-iid", "5")
    claims = planned.ledger.claims
    pool = replace(claims[ids[0]], id="pool", tables=(), pooled=ids)
    parts = [basis(planned, name) for name in ids]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(claims, "pool", pool)
        found = basis(planned, "pool")
    assert set(found.runs) == {run for part in parts for run in part.runs}
    assert found.size == len(found.runs) > len(parts[0].runs) > 0
    assert found.unchecked == parts[2].unchecked


def test_an_unknown_claim_is_refused_with_the_nearest(planned):
    with pytest.raises(
        UserError, match=r"^claim: '37-mnist-nonid' is unknown; .* '37-mnist-noniid'"
    ):
        bases(["37-mnist-nonid"], planned, {})
