import json
import math
import sys
from dataclasses import asdict, fields, replace

import pytest
from click.testing import CliRunner
from running import finished, start

from ngo.registry import UserError
from ngo.spec import DEFAULTS, FIELDS, RunSpec, resolve


def test_ids_are_readable_and_unique_by_value():
    spec = resolve({}, {**DEFAULTS, "partition": "shards"})
    assert spec.id.startswith("mnist-shards-ring-ngo-p0.9-s0-")
    assert len(spec.id.rsplit("-", 1)[1]) == 8
    others = [
        {"p": 0.8}, {"gamma": 0.2}, {"lr": 0.01}, {"seed": 1}, {"epochs": 3}, {"batch_size": 8},
        {"topology": "complete"}, {"protocol": "gossip"}, {"workers": 5}, {"shards": 200},
        {"eval_every": 2}, {"partition": "iid"}, {"protocol": "centralized"},
    ]  # fmt: skip
    ids = {resolve({}, {**DEFAULTS, "partition": "shards", **other}).id for other in others}
    assert len(ids | {spec.id}) == len(others) + 1


def test_the_same_values_have_the_same_id_however_they_are_written():
    assert resolve({"epochs": 20, "gamma": 1}).id == resolve({"epochs": 20.0, "gamma": 1.0}).id
    assert resolve({"seed": 0}).id == resolve({}).id


def test_values_without_a_meaning_are_left_out():
    centralized = resolve({"protocol": "centralized"})
    assert (centralized.topology, centralized.p, centralized.gamma) == (None, None, None)
    gossip = resolve({"protocol": "gossip"}, {**DEFAULTS, "p": 0.7, "u": 0.1})
    assert (gossip.p, gossip.u, gossip.local_steps) == (1.0, None, 1)
    assert gossip.id == resolve({"protocol": "gossip"}, {**DEFAULTS, "p": 0.9}).id
    assert resolve({"topology": "random"}).u == 0.4
    assert resolve({"partition": "dirichlet"}).shards is None


def test_runs_that_share_a_partition_share_its_id():
    one = resolve({"protocol": "centralized", "lr": 0.2})
    other = resolve({"topology": "complete", "batch_size": 8})
    assert one.partition_id == other.partition_id
    assert resolve({"seed": 1}).partition_id != one.partition_id


def test_flags_give_the_run_again():
    import click

    from ngo.cli import run_fields

    seen = {}

    @click.command()
    @run_fields(*FIELDS)
    def command(**given):
        seen.update({k: v for k, v in given.items() if v is not None})

    for values in (
        {"protocol": "centralized"},
        {"protocol": "gossip", "topology": "random"},
        {"protocol": "local_sgd", "local_steps": 5, "p": 0.75, "lr": 1e-05},
        {"partition": "dirichlet", "beta": 0.3},
    ):
        seen.clear()
        spec = resolve(values)
        result = CliRunner().invoke(command, spec.flags(), catch_exceptions=False)
        assert result.exit_code == 0
        assert resolve({}, {**DEFAULTS, **seen}) == spec


def test_a_spec_survives_json():
    spec = resolve({"topology": "random", "p": 0.55})
    again = RunSpec(**json.loads(json.dumps(asdict(spec))))
    assert again == spec
    assert again.id == spec.id


def test_every_field_is_explained():
    for field in fields(RunSpec):
        entry = FIELDS[field.name]
        assert entry.help
        assert entry.names is not None or (entry.allowed is not None and entry.range)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"topolgy": "ring"}, "field of a run: 'topolgy'.*Did you mean 'topology'"),
        ({"topology": "rng"}, "topology: 'rng' is unknown; allowed: complete, random, ring"),
        ({"protocol": "NGO"}, "protocol: 'NGO' is unknown"),
        ({"dataset": "minst"}, "dataset: 'minst'.*Did you mean 'mnist'"),
        ({"partition": "shard"}, "partition: 'shard'.*Did you mean 'shards'"),
        ({"model": None}, "model: None is unknown"),
        ({"topology": ["ring"]}, r"topology: \['ring'\] is unknown"),
        ({"p": 0.4}, "p: 0.4 is out of range; it must be a number, 0.5 to 1"),
        ({"p": 1.1}, "p: 1.1 is out of range"),
        ({"p": "0.9"}, "p: '0.9' is not a number.*write 0.9"),
        ({"gamma": "1e-3"}, "gamma: '1e-3' is not a number.*write 0.001"),
        ({"lr": "fast"}, "lr: 'fast' is not a number; it must be a number, above 0.$"),
        ({"lr": math.nan}, "lr: nan is not finite"),
        ({"gamma": math.inf}, "gamma: inf is not finite"),
        ({"lr": 0}, "lr: 0 is out of range; it must be a number, above 0"),
        ({"gamma": -0.1}, "gamma: -0.1 is out of range"),
        ({"lr": True}, "lr: True is not a number"),
        ({"workers": 2.5}, "workers: 2.5 is not whole"),
        ({"workers": 0}, "workers: 0 is out of range"),
        ({"workers": 1}, "workers: 1 is too few for protocol 'ngo'; it must be 2 or more"),
        ({"workers": 60_001, "batch_size": 1}, "workers: 60001 is more than mnist's 60000"),
        ({"batch_size": 6001}, "batch_size: 6001 is larger than a worker's share of 6000"),
        ({"partition": "shards", "batch_size": 401}, "a worker's share of 400"),
        ({"partition": "shards", "workers": 151}, "are 302 shards, but there are 300; at most 1"),
        ({"partition": "shards", "shards": 60_001}, "shards: 60001 is more than mnist's 60000"),
        ({"partition": "dirichlet", "beta": 0}, "beta: 0 is out of range"),
        ({"topology": "random", "u": 0}, "u: 0 is out of range; it must be a number, above 0"),
        ({"topology": "random", "u": 1.01}, "u: 1.01 is out of range"),
        ({"topology": "ring", "u": 0.4}, "u: 0.4 has no effect with topology 'ring'"),
        (
            {"protocol": "gossip", "p": 0.9},
            r"p: 0.9 has no effect with protocol 'gossip' \(it is 1",
        ),
        ({"protocol": "ngo", "local_steps": 5}, "local_steps is read with protocol local_sgd"),
        ({"seed": -1}, "seed: -1 is out of range"),
        ({"seed": 2**63}, "seed: 9223372036854775808 is too large; .* and below 2.63"),
        ({"workers": 1e300}, "workers: 1e.300 is too large"),
        ({"lr": 10**400}, "lr: 1000.*… is too large"),
        ({"lr": list(range(1000))}, r"lr: \[0, 1, .*… is not a number; it must be a number, above"),
        ({"gamma_decay": 1e300}, "gamma_decay: 1e.300 is out of range; .* 0 to 10"),
        ({"partition": "dirichlet", "beta": 1e308}, "beta: 1e.308 is out of range"),
        ({"epochs": 0}, "epochs: 0 is out of range"),
        ({"epochs": 1e12}, "epochs: 1000000000000.0 is out of range; .* to 1,000,000,000"),
        (
            {"epochs": 1e8, "eval_every": 1e7},
            r"epochs: 1e\+08 are 1.88e\+10 steps; it must be 5.33e\+06 or less, for at most 1,000,",
        ),
        (
            {"eval_every": 1e-9},
            "eval_every: 1e-09 asks for 2e.10 evaluations; it must be 0.0002 or more, for at most "
            "100,000",
        ),
        ({"epochs": 1e-9, "eval_every": 1e-9}, "eval_every: 1e-09 asks for 5.33e.06 evaluations"),
    ],
)
def test_mistakes_are_told_in_one_line(values, message):
    with pytest.raises(UserError, match=message) as error:
        resolve(values)
    assert "\n" not in str(error.value)


def test_a_field_that_has_a_meaning_needs_a_value():
    with pytest.raises(UserError, match="gamma has no value; it must be a number, above 0"):
        resolve({}, {name: value for name, value in DEFAULTS.items() if name != "gamma"})
    others = {k: v for k, v in DEFAULTS.items() if k not in ("gamma", "topology", "u", "beta")}
    assert resolve({"protocol": "centralized"}, others).gamma is None


def test_one_worker_may_learn_alone():
    assert resolve({"protocol": "centralized", "workers": 1}).workers == 1


def test_a_run_cannot_be_changed():
    with pytest.raises(AttributeError):
        resolve({}).lr = 1
    assert replace(resolve({}), lr=0.5).lr == 0.5


@pytest.mark.parametrize("module", ["ngo.experiments", "ngo.spec", "ngo.cli", "ngo.sources"])
def test_checking_a_config_imports_nothing_heavy(module):
    heavy = "{'torch', 'torchvision', 'pandas', 'scipy', 'matplotlib', 'networkx', 'pyarrow'}"
    code = f"import sys, {module}; print(sorted({heavy} & set(sys.modules)))"
    assert finished(start([sys.executable, "-c", code])).strip() == "[]"


def test_training_does_not_import_pandas(tmp_path):
    code = (
        "import sys; from pathlib import Path; from ngo import training, partition_file, datasets;"
        "from ngo.spec import resolve;"
        "s = resolve(dict(dataset='digits', epochs=1e-6, batch_size=8)); r = Path(sys.argv[1]);"
        "l = datasets.train_labels('digits', r);"
        "partition_file.write(r / 'p', s, l, partition_file.draw(s, l));"
        "training.run(s, r, r, parts=partition_file.read(r / 'p', s));"
        "print(sorted({'pandas', 'torchvision', 'scipy', 'networkx'} & set(sys.modules)))"
    )
    assert finished(start([sys.executable, "-c", code, tmp_path])).strip() == "[]"
