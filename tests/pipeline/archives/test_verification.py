"""Measurements that were forged, and what is drawn for claims."""

import pytest
from small_archives import SPECTRA, THEORY, forged, forged_table, in_this_process, members_in, train
from small_archives import ngo as run_ngo


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with the runs and the measurements of a campaign."""
    folder = tmp_path_factory.mktemp("trained")
    train(folder, measured=True)
    return folder


@pytest.fixture
def own(trained, tmp_path, monkeypatch):
    """The members of an archive of these; they are made again in this process."""
    monkeypatch.chdir(trained)
    in_this_process(monkeypatch, tmp_path)
    return members_in(trained)


def verified(members, *arguments, code=0):
    return run_ngo("verify", members, *arguments, code=code)


def kept_times(table):
    """Claim 15 made to hold: consensus is reached at T* as printed at the latest."""
    bounds = table["kind"] == "bounds"
    table.loc[bounds, "measured"] = table.loc[bounds, ["measured", "paper"]].min(axis=1)
    return table


def test_honest_measurements_pass_and_the_odds_are_told(own):
    out = verified(own, "--seed", 3, "--sample", 0, "--measurements", 1)
    assert out.count("bit for bit") == 2
    assert "FAIL" not in out
    assert (
        "1 of 2 cases of theory_theory measured again; the probability of missing a forgery, by "
        "the share of them that is forged: 1 %: 50.0 %" in out
    )
    assert "1 of 4 cases of spectra_own measured again" in out
    assert "75.0 %" in out


def test_a_forged_table_of_theorems_is_found(own):
    members = forged_table(own, THEORY, kept_times)
    assert "FAIL" not in verified(members, "--sample", 0)
    out = verified(members, "--claim", "time", "--seed", 0, code=1)
    assert "FAIL  theory_theory: kind bounds: measured in row " in out
    assert "claim time rests on 1 cases of theory_theory" in out
    assert "10 %: 0.0 %, 50 %: 0.0 %, 100 %: 0.0 %" in out


def test_rows_of_no_case_and_missing_rows_are_found(own):
    more = forged_table(own, SPECTRA, lambda table: table.replace({"n": {6: 7}}))
    out = verified(more, "--sample", 0, code=1)
    assert "FAIL  spectra_own: it has rows of a case that the config lacks: ('ring', 7)" in out
    less = forged_table(own, SPECTRA, lambda table: table.iloc[1:])
    out = verified(less, "--sample", 0, "--measurements", 4, "--seed", 0, code=1)
    assert "spectra_own: topology ring, n 4: 0 rows in the archive, 1 measured" in out
    without = forged_table(own, SPECTRA, lambda table: table.drop(columns="n"))
    assert "spectra_own: it has no column 'n'" in verified(without, "--sample", 0, code=1)


def test_a_table_that_is_no_table_is_one_line(own):
    out = verified({**own, SPECTRA: b"no"}, "--sample", 0, code=2)
    assert out.startswith(f"ngo: archive: 'own.tar' is refused: {SPECTRA!r} can't be read (")
    assert out.count("\n") == 1


def test_runs_are_drawn_among_those_of_a_claim(own):
    out = verified(own, "--claim", "gossip-learns", "--seed", 1, "--sample", 2)
    made = [line for line in out.splitlines() if line.endswith("bit for bit")]
    assert len(made) == 2
    assert all("-gossip-" in line for line in made)
    assert "claim gossip-learns rests on 2 runs\n  2 of 2 runs retrained" in out
    out = verified(own, "--claim", "ngo-wins", "--seed", 1, "--sample", 1)
    assert (
        "claim ngo-wins rests on 4 runs\n  1 of 4 runs retrained; the probability of missing" in out
    )
    assert "10 %: 75.0 %, 50 %: 50.0 %, 100 %: 0.0 %" in out


def test_a_forgery_of_a_claims_runs_is_found_among_them(own):
    def better(columns):
        columns["consensus_accuracy"][-1] += 0.01

    members, run = forged(own, better)
    assert "-gossip-" in run
    verified(members, "--claim", "gossip-learns", "--seed", 1, "--sample", 2, code=1)


def test_an_unknown_claim_and_a_missing_seed_are_one_line(own):
    out = verified(own, "--claim", "gosip-learns", "--sample", 0, code=2)
    assert out.endswith("Did you mean 'gossip-learns'?\n")
    assert out.startswith("ngo: claim: 'gosip-learns' is unknown; allowed: gossip-learns, ")
    seed = "ngo: seed: it is missing; name one, or draw nothing with --sample 0.\n"
    assert verified(own, code=2) == seed
    assert verified(own, "--sample", 0, "--measurements", 1, code=2) == seed
