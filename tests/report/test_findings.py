"""Findings: answers and topics of a file, whose mistakes are told in a line."""

import json

import pytest
from cases import cases, refused
from made_up_page import EMPTY, FINDINGS, ROWS, row

import ngo.analysis.quantities  # noqa: F401 (registers the quantities that claims name)
from ngo.report.findings import findings, told
from verdicts.registry import UserError


def read(folder, text):
    """The findings on the made-up claims that a file with this text gives."""
    (folder / "findings.yaml").write_text(text)
    return findings(ROWS, folder / "findings.yaml")


def test_claims_are_told_by_topic_and_absent_ones_left_out(tmp_path):
    made = read(tmp_path, FINDINGS)
    told = {topic.title: [row.claim for row in topic.rows] for topic in made.topics}
    assert told == {"Accuracy": ["order", "same"], "Theorems": ["15", "later"]}
    assert made.topics[1].absent == {"no rows with dataset = 'cifar10'": [ROWS[3]]}
    asked = {answer.question: [part.row.claim for part in answer.parts] for answer in made.answers}
    assert asked == {"Is it better?": ["order", "same"], "Is the theorem true?": ["15"]}


def test_without_a_file_all_claims_are_told_under_one_heading():
    made = findings(ROWS, None)
    (topic,) = made.topics
    assert topic.rows == ROWS
    assert (made.answers, made.figure, made.title) == ((), "", "")


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
    ("{}", "findings.figure: None is not allowed; it must be text"),
    ("{figure: a, topics: b}", "findings.topics: 'b' is not allowed; it must be a list"),
    ("{figure: a, topics: [], title: 1}", "findings.title: 1 is not allowed"),
    ("{figure: a, topics: [1]}", r"findings.topics\[0\].title: None is not allowed"),
    ("{figure: a, topics: [], questions: b}", "findings.questions: 'b' is not allowed"),
    ("{figure: a, topics: [], questions: [1]}", r"questions\[0\].asks: None is not allowed"),
    (
        "{figure: a, topics: [], questions: [{asks: b, claims: {c: 1}}]}",
        r"questions\[0\].claims: {'c': 1} is not allowed; it must be a mapping of texts",
    ),
    (
        "{figure: a, topics: [], questions: [{asks: b, claims: {c: d}, answer: '{c}'}]}",
        r"questions\[0\].given: None is not allowed; it must be a mapping of texts",
    ),
    (
        "{figure: a, topics: [], questions: [{asks: b, claims: {c: d}, answer: '{c}', given: {}}]}",
        r"questions\[0\].given: it must have the verdict of 'c', whose number is in the answer",
    ),
)
def test_a_mistake_in_a_file_of_findings_is_one_line(tmp_path, text, message):
    refused(message, read, tmp_path, text)


@pytest.mark.parametrize("setting", ["", "n", "n=3)", "n=<b>", "../x#n=3", "n=3&", "n=3\n"])
def test_a_setting_that_is_more_than_names_and_values_is_refused(tmp_path, setting):
    with pytest.raises(UserError, match=r"findings\.play\.15: .* is no setting"):
        read(tmp_path, f"{FINDINGS}\nplay: {{'15': {json.dumps(setting)}}}\n")
