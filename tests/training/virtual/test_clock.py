import pytest
from runs import digits_run

from ngo.common.registry import UserError
from ngo.training.resolve import resolve
from ngo.training.spec import FIELDS, RunSpec
from ngo.training.virtual.clock import CLOCKS


def test_a_run_without_a_clock_has_the_fields_and_the_id_of_before():
    spec = resolve({})
    assert spec.clock == "steps"
    assert spec.own == ()
    assert spec.id == "mnist-iid-ring-ngo-p0.95-s0-0935ccda"
    assert resolve({"clock": "steps"}) == spec


def test_fields_appear_where_they_have_a_meaning():
    assert CLOCKS["steps"].fields == ()
    assert set(CLOCKS["asynchronous"].fields) - set(CLOCKS["waiting"].fields) == {"message_loss"}
    spec = resolve({"clock": "waiting", "speed": "log_normal"})
    assert dict(spec.own)["speed_spread"] == 0.5
    assert "message_loss" not in spec.values()
    assert RunSpec.of(spec.values()) == spec
    assert FIELDS["latency"].owners == ("links",)


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"clock": "async"}, "clock: 'async' is unknown; allowed: .*Did you mean"),
        ({"speed": "constant"}, "speed: 'constant' has no effect with clock 'steps'"),
        (
            {"clock": "waiting", "message_loss": 0.1},
            "message_loss: 0.1 has no effect with clock 'waiting'; .* with clock asynchronous",
        ),
        (
            {"clock": "waiting", "speed_spread": 1},
            "speed_spread: 1.0 has no effect with speed 'constant'; .*log_normal",
        ),
        ({"clock": "asynchronous", "method": "d2"}, "'d2', whose workers have to wait.*ad_psgd"),
        ({"clock": "waiting", "method": "ad_psgd"}, "'ad_psgd', whose workers never step together"),
        ({"method": "ad_psgd"}, "clock: 'steps' is not possible .*; it must be asynchronous"),
        ({"clock": "asynchronous", "absence": 0.1}, "absence: 0.1 is drawn for the steps that all"),
        (
            {"clock": "asynchronous", "attack": "alie"},
            "attack: 'alie' is a lie about the models of",
        ),
        (
            {"clock": "asynchronous", "coupling": "implicit", "topology": "random_matching"},
            "coupling: 'implicit' moves both ends",
        ),
        ({"clock": "asynchronous", "speed": "speed_trace"}, "speed_file: it is missing"),
        ({"clock": "asynchronous", "message_loss": 1}, "message_loss: 1 is out of range"),
    ],
)
def test_what_does_not_go_together_is_refused_in_one_line(given, wrong):
    with pytest.raises(UserError, match=wrong) as error:
        resolve(given)
    assert "\n" not in str(error.value)


def test_traces_are_read_when_a_run_is_checked(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("nothing\n")
    for kind, name in (("speed", "speed"), ("links", "link"), ("churn", "churn")):
        with pytest.raises(UserError, match=f"{name}_file: .*its first line must be time,"):
            digits_run(clock="asynchronous", **{kind: f"{name}_trace", f"{name}_file": str(path)})
