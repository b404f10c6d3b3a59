"""Findings: sentences that say no more than the verdicts."""

import json

import pytest
from made_up_page import EMPTY, FINDINGS, ROWS, row

import ngo.analysis  # noqa: F401 (registers the quantities that claims name)
from ngo.common.registry import UserError
from ngo.report.findings import findings, read_findings, sentence
from verdicts.statistics.judgement import VERDICTS


@pytest.fixture
def found(tmp_path):
    (tmp_path / "findings.yaml").write_text(FINDINGS)
    return findings(ROWS, tmp_path / "findings.yaml")


def test_claims_are_told_by_topic_and_absent_ones_left_out(found):
    told = {topic.title: [each.row.claim for each in topic.sentences] for topic in found.topics}
    assert told == {"Accuracy": ["order", "same"], "Theorems": ["15"]}
    assert found.topics[1].absent == (("no rows with dataset = 'cifar10'", (ROWS[3],)),)
    asked = {each.question: [part.row.claim for part in each.parts] for each in found.answers}
    assert asked == {"Is it better?": ["order", "same"], "Is the theorem true?": ["15"]}


def test_without_a_file_all_claims_are_told_under_one_heading():
    found = findings(ROWS, None)
    (topic,) = found.topics
    assert [each.row.claim for each in topic.sentences] == ["order", "same", "15", "open"]
    assert topic.absent == (("no rows with dataset = 'cifar10'", (ROWS[3],)),)
    assert topic.counted == found.counted
    assert (found.answers, found.figure, found.title) == ((), "", "")


@pytest.mark.parametrize("verdict", VERDICTS)
def test_a_sentence_has_the_words_of_its_verdict_only(verdict):
    words = {name: sentence(row("a", verdict=name)).verdict for name in VERDICTS}
    assert len(set(words.values())) == len(VERDICTS)
    told = sentence(row("a", verdict=verdict, reason="the reason"))
    for other in VERDICTS:
        assert (words[other] in f"{told.verdict}; {told.found}") == (other == verdict)


def test_numbers_are_the_rows(found):
    said = "4.12 points (expected above 0; margin 0.5, 95 % interval 2.25 to 6, 20 seeds)"
    assert found.topics[0].sentences[0].found == said
    assert sentence(row("a", pairs=1)).found.endswith("(expected above 0; margin 0.5, 1 seed)")
    assert sentence(ROWS[2]).found == "met in 204 of 400 cases; not in ring"
    assert sentence(ROWS[3]).found == "no rows with dataset = 'cifar10'"
    assert sentence(row("a", **EMPTY)).found == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "is not valid YAML"),
        ("[]", "must be a mapping"),
        ("{}", "findings.figure: None is not allowed; it must be text"),
        ("{figure: a, topics: b}", "findings.topics: 'b' is not allowed; it must be a list"),
        ("{figure: a, topics: [], title: 1}", "findings.title: it must be text"),
        ("{figure: a, topics: [1]}", r"findings.topics\[0\].title: None is not allowed"),
        ("{figure: a, topics: [], questions: b}", "findings.questions: 'b' is not allowed"),
        ("{figure: a, topics: [], questions: [1]}", r"questions\[0\].asks: None is not allowed"),
        (
            "{figure: a, topics: [], questions: [{asks: b, claims: {c: 1}}]}",
            r"questions\[0\].claims: {'c': 1} is not allowed; it must be a mapping of texts",
        ),
    ],
)
def test_a_mistake_in_a_file_of_findings_is_one_line(tmp_path, text, message):
    (tmp_path / "findings.yaml").write_text(text)
    with pytest.raises(UserError, match=message) as told:
        findings(ROWS, tmp_path / "findings.yaml")
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("setting", ["", "n", "n=3)", "n=<b>", "../x#n=3", "n=3&", "n=3\n"])
def test_a_setting_that_is_more_than_names_and_values_is_refused(tmp_path, setting):
    (tmp_path / "findings.yaml").write_text(f"{FINDINGS}\nplay: {{'15': {json.dumps(setting)}}}\n")
    with pytest.raises(UserError, match=r"findings\.play\.15: .* is no setting"):
        read_findings(tmp_path / "findings.yaml")
