"""What a page says: answers that follow from the verdicts, findings, sections and provenance."""

import json
import math

import pytest
from cases import cases, refused
from made_up_page import EMPTY, FINDINGS, ROWS, contents, row

import ngo.analysis.quantities  # noqa: F401 (registers the quantities that claims name)
from ngo.report.answers import KINDS, answer, finding, first_word
from ngo.report.contents import provenance, seeds, tally
from ngo.report.findings import findings, told
from verdicts import judgement
from verdicts.registry import UserError
from verdicts.statistics import Multiverse


def answered(*rows):
    labels = {row.claim: f"on {row.claim}" for row in rows}
    return answer({"asks": "Is it so?", "claims": labels}, {row.claim: row for row in rows})


@cases(
    "verdicts, word",
    (["holds", "robust"], "Yes"),
    (["fails", "reversed", "equivalent", "no effect"], "No"),
    (["holds", "fails"], "Partly"),
    (["holds", "equivalent", "undecided"], "Partly"),
    (["depends", "holds"], "It depends"),
    (["depends", "fails", "undecided"], "It depends"),
    (["holds", "undecided"], "Yes, where decided"),
    (["fails", "undecided"], "No, where decided"),
    (["undecided"], "Undecided"),
    ([], "Not run"),
)
def test_the_first_word_follows_from_the_verdicts(verdicts, word):
    assert first_word([KINDS[verdict] for verdict in verdicts]) == word
    assert first_word([KINDS[verdict] for verdict in reversed(verdicts)]) == word
    assert {*judgement.VERDICTS} - {*KINDS} == {judgement.NOT_RUN, judgement.OUT_OF_SCALE}


FAILS = {"verdict": "fails", "estimate": -3.0, "low": -4.0, "high": -2.0}
ABSENT = {"verdict": judgement.NOT_RUN, "reason": "no rows", **EMPTY}


def test_claims_that_disagree_are_told_by_what_they_say_and_others_are_named():
    made = answered(
        row("A", verdict="undecided", estimate=0.25, low=-1.0, high=1.5),
        row("B", **FAILS),
        row("C"),
        row("D", verdict="equivalent", estimate=0.1),
        row("E", mark="trivial"),
        row("F", **ABSENT),
        row("G", **ABSENT),
    )
    assert made.sentence == (
        "Partly: yes on C by 4.1 points [2.2, 6.0]; no on B, the other way by 3.0 points "
        "[2.0, 4.0]; on D, no difference beyond 0.5 points; undecided on A, 0.2 points [−1.0, 1.5]."
    )
    assert made.left_out == "Not run: on F; on G. By construction: on E (trivial)."


def test_an_authors_words_have_numbers_while_the_verdicts_are_those_they_were_written_for():
    rows = {"A": row("A"), "B": row("B", **FAILS), "U": over_universes("undecided", rule="")}
    labels = {claim: f"on {claim}" for claim in rows}
    words, given = "Ahead by {A}, behind by {B}; in {U}.", {"A": "holds", "B": "fails"}
    asked = {"asks": "Is it so?", "claims": labels, "answer": words, "given": given}
    made = answer({**asked, "short": "By {B:gamma}."}, rows, lambda *of: "/".join(of))
    ahead, universes = "4.1 points [2.2, 6.0]", "70 % of 200 universes, the other way in 25 %"
    said = f"Ahead by {ahead}, behind by 3.0 points [2.0, 4.0]; in {universes}."
    assert "".join(text for text, _ in made.short) == "By B/gamma."
    assert (made.sentence, made.outdated) == (said, "")
    assert [row.claim for _, row in made.in_words if row] == ["A", "B", "A"]
    changed = answer(asked, {**rows, "A": row("A", **FAILS)})
    assert changed.outdated == "A is 'fails', not 'holds'"
    assert (changed.in_words, changed.sentence[:21]) == ((), "No, where decided: on")
    assert changed.short == ()
    assert answer(asked, {"A": row("A")}).in_words == ()


def test_claims_that_were_not_run_have_one_word_and_unknown_ones_no_answer():
    made = answered(row("A", **ABSENT))
    assert (made.sentence, made.left_out) == ("Not run.", "")
    assert answer({"asks": "Is it so?", "claims": {"A": "there"}}, {}) is None


def test_what_is_out_of_scale_is_told_with_its_number():
    small = {"verdict": judgement.OUT_OF_SCALE, "reason": "too short: 2 epochs"}
    made = answered(row("A", **small))
    assert (made.sentence, made.left_out) == ("Out of scale.", "")
    left_out = "Out of scale: on A (4.1 points). Not run: on C."
    made = answered(row("A", **small), row("B"), row("C", **ABSENT))
    assert (made.word, made.left_out) == ("Yes, where decided", left_out)
    made = answered(row("A", **small), row("C", **ABSENT))
    assert (made.sentence, made.left_out) == ("Not run.", left_out)


ENDLESS = {"unit": "log ratio", "estimate": 800.0, "low": 1.0, "high": 900.0}
RATIO = {"unit": "log ratio", "estimate": -0.6931, "low": -1.3863, "high": 0.0}
NEAR = {"relation": "near", "expected": -1.0, "estimate": -1.0, "low": -1.04, "high": -0.957}
CASES = {**EMPTY, "relation": "", "cases": 40.0}
CELLS = {**EMPTY, "verdict": "fails", "reason": "of 4 cells: fails in 4"}


@cases(
    "values, said",
    ({**RATIO, "relation": "below"}, " by a factor of 2.0 [1.0, 4.0]"),
    ({**RATIO, "verdict": "fails"}, ", the other way by a factor of 2.0 [1.0, 4.0]"),
    (ENDLESS, " by a factor of 1.01 · 10³⁰⁴ [2.72, 1.01 · 10³⁰⁴]"),
    (NEAR, ", −1.000 points [−1.040, −0.957]"),
    ({**CASES, "met": 40.0}, " in all 40 cases"),
    ({**CASES, "met": 3.0, "verdict": "fails"}, " in only 3 of 40 cases"),
    ({**CASES, "met": 0.0, "verdict": "fails"}, " in no case"),
    (CELLS, " (of 4 cells: fails in 4)"),
    (EMPTY, ""),
    ({"estimate": 0.2, "low": 0.1, "high": math.inf}, " by 0.20 points [0.10, ∞]"),
)
def test_ratios_values_cases_and_cells_have_their_own_words(values, said):
    assert finding(row("A", **values)) == said


def over_universes(verdict, **values):
    seen = {"count": 200, "of": 256, "holds": 140, "reversed": 50, "within": 10, "share": 0.7}
    seen |= {"low": 0.63, "high": 0.76, "p": 0.001, "rule": "γ ≤ 0.3", "rule_accuracy": 0.88}
    seen |= {"rule_of": "holds", "rule_settings": ("gamma",), "variance": {"gamma": 0.5}}
    return row("A", verdict=verdict, multiverse=Multiverse(**{**seen, **values}))


SHARE = " in 70 % of 200 universes [63, 76]"
BOTH = f"{SHARE}, the other way in 25 %"


@cases(
    "verdict, values, said",
    ("robust", {"rule": ""}, SHARE),
    ("undecided", {"rule": "", "variance": {"gamma": 0.02}}, f", as claimed{BOTH}"),
    ("depends", {}, f"{BOTH} (it holds where γ ≤ 0.3, which is right in 88 %)"),
    (
        "depends",
        {"rule_of": "reversed"},
        f"{BOTH} (the other way where γ ≤ 0.3, which is right in 88 %)",
    ),
    ("reversed", {"rule": "", "reversed": 190}, ", the other way in 95 % of 200 universes"),
    (
        "no effect",
        {"rule": "", "within": 190},
        ", no difference beyond the margin in 95 % of 200 universes",
    ),
    ("not run", {"count": 0}, ""),
)
def test_a_claim_over_universes_has_its_share_and_its_rule(verdict, values, said):
    assert finding(over_universes(verdict, **values)) == said


def read(folder, text):
    """The findings on the made-up claims that a file with this text gives."""
    (folder / "findings.yaml").write_text(text)
    return findings(ROWS, folder / "findings.yaml")


def test_claims_are_told_by_topic_and_absent_ones_left_out(tmp_path):
    made = read(tmp_path, FINDINGS)
    told = {topic.title: [row.claim for row in topic.rows] for topic in made.topics}
    assert told == {"Accuracy": ["order", "same"], "Theorems": ["15", "later"]}
    asked = {answer.question: [part.row.claim for part in answer.parts] for answer in made.answers}
    assert asked == {"Is it better?": ["order", "same"], "Is the theorem true?": ["15"]}


def test_without_a_file_all_claims_are_told_under_one_heading():
    made = findings(ROWS, None)
    (topic,) = made.topics
    assert topic.rows == ROWS
    assert (made.answers, made.title) == ((), "")


def test_numbers_are_the_rows():
    said = "4.1 points (expected above 0; margin 0.5, interval 2.2 to 6.0, 20 seeds)"
    assert told(row("a")) == said
    assert told(row("a", pairs=1)).endswith("(expected above 0; margin 0.5, 1 seed)")
    assert told(ROWS[2]) == "met in 204 of 400 cases; not in ring"
    assert told(ROWS[3]) == "no rows with dataset = 'cifar10'"
    assert told(row("a", **EMPTY)) == ""


@cases(
    "text, message",
    ("[", "is not valid YAML"),
    ("[]", "must be a mapping"),
    ("{topics: b}", "findings.topics: 'b' is not allowed; it must be a list"),
    ("{topics: [], title: 1}", "findings.title: 1 is not allowed"),
    ("{topics: [1]}", r"findings.topics\[0\].title: None is not allowed"),
    ("{topics: [], questions: b}", "findings.questions: 'b' is not allowed"),
    ("{topics: [], questions: [1]}", r"questions\[0\].asks: None is not allowed"),
    (
        "{topics: [], questions: [{asks: b, claims: {c: 1}}]}",
        r"questions\[0\].claims: {'c': 1} is not allowed; it must be a mapping of texts",
    ),
    (
        "{topics: [], questions: [{asks: b, claims: {c: d}, answer: '{c}'}]}",
        r"questions\[0\].given: None is not allowed; it must be a mapping of texts",
    ),
    (
        "{topics: [], questions: [{asks: b, claims: {c: d}, answer: '{c}', given: {}}]}",
        r"questions\[0\].given: it must have the verdict of 'c', whose number is in the answer",
    ),
)
def test_a_mistake_in_a_file_of_findings_is_one_line(tmp_path, text, message):
    refused(message, read, tmp_path, text)


@pytest.mark.parametrize("setting", ["", "n", "n=3)", "n=<b>", "../x#n=3", "n=3&", "n=3\n"])
def test_a_setting_that_is_more_than_names_and_values_is_refused(tmp_path, setting):
    with pytest.raises(UserError, match=r"findings\.play\.15: .* is no setting"):
        read(tmp_path, f"{FINDINGS}\nplay: {{'15': {json.dumps(setting)}}}\n")


def test_sections_and_the_claims_that_an_entry_shows(tmp_path):
    made = contents(tmp_path)
    assert [name for name, _ in made.sections()] == ["5.6 Stability", "Supplement", "Claims"]
    shown = {entry.name: [row.claim for row in made.decided_by(entry)] for entry in made.shown}
    assert shown == {"fig8": ["order", "open"], "tableS1": ["same", "15"], "claims": ["later"]}
    assert sum(map(len, shown.values())) == len(ROWS)


RECORD = {
    "seed": 0, "source": "abc", "device": "cpu", "wall_seconds": 3600,
    "about": {"code": "1", "instructions": "AVX2"}, "spec": {"dataset": "mnist"},
    "versions": {"torch": "2.0"},
}  # fmt: skip
OTHER = RECORD | {"seed": 1, "source": "", "wall_seconds": 1800, "versions": {"torch": "2.1"}}


def test_facts_of_runs_that_differ_have_numbers_of_runs():
    facts = provenance([RECORD, RECORD | {"seed": 4}, OTHER], ["config/a.yaml"], ["own.py"])
    assert facts["Runs"] == "3"
    assert facts["Training time"] == "2.50 hours, the sum over runs"
    assert facts["Source revision"] == "abc (2 runs), not recorded (1 run)"
    assert facts["Results version"] == "1"
    assert facts["Seeds"] == "0 to 1, 4"
    assert facts["Version of torch"] == "2.0 (2 runs), 2.1 (1 run)"
    assert facts["Config"] == "config/a.yaml"
    assert facts["Plugins"] == "own.py"
    assert "Processor" not in facts
    assert provenance([RECORD | {"processor": "x"}], [])["Processor"] == "x"


def test_no_runs():
    facts = provenance([], [])
    assert [facts[k] for k in ("Runs", "Source revision", "Seeds")] == ["0", "not recorded", "none"]
    assert tally([{"a": {"b": 1}}, {"a": None}], "a", "b") == "1 (1 run), not recorded (1 run)"
    assert seeds([3, 1, 2, 7, 7]) == "1 to 3, 7"
