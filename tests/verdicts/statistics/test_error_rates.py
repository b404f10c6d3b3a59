"""Every path to a verdict is a row in the table of error rates, and few answers are false."""

import cProfile
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest

from verdicts import error_rates, statistics
from verdicts.cli import main
from verdicts.error_rates import EFFECTS, FORMS, others, rates, shares
from verdicts.statistics import samples

PAGE = Path(__file__).parents[3] / "docs" / "verdicts.md"

#: The paths without a row, and why.
EXEMPT = dict.fromkeys(("judge_exact", "judge_cases"), "nothing is sampled")
EXEMPT["sequential"] = "over_looks, with all choices of signs"

RULES = [*others(*FORMS[0].drawn(0.0, 1), paired=True)]

ANSWER = r"\b(Verdict|Evidence|MultiverseEvidence|Comparison|Reproduction)\b"


def paths():
    """The public functions that return a verdict, what decides it, or an answer; and the tests."""
    names = [f"statistics.{module.name}" for module in pkgutil.iter_modules(statistics.__path__)]
    for name in ({*names} - {"statistics.error_rates"}) | {"comparison", "reproduction"}:
        module = importlib.import_module(f"verdicts.{name}")
        for path, function in inspect.getmembers(module, inspect.isfunction):
            answers = re.search(ANSWER, str(function.__annotations__.get("return")))
            if answers and function.__module__ == module.__name__ and path[0] != "_":
                yield path, function.__code__
    for path, test in inspect.getmembers(samples, inspect.isclass):
        if hasattr(test, "tail") and not getattr(test, "_is_protocol", False):
            yield path, test.tail.__code__


def test_every_path_to_a_verdict_has_a_row():
    with cProfile.Profile() as profile:
        for form in FORMS:
            if form.noise != "normal" or len(form.affected) > 12:
                continue  # the same paths
            form.ours(*form.drawn(1.0, 2))
    called = {entry.code for entry in profile.getstats()}
    known = dict(paths())
    assert {"judge", "judge_depends", "compare", "reproduce", "SignedRanks"} <= set(known)
    assert {path for path, code in known.items() if code not in called} == set(EXEMPT)


def on_the_page():
    """The rows of the page: false answers at each effect and power, by rule, and why."""
    text = PAGE.read_text().split("<!-- rates -->")[1]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    header, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    for row in rows:
        known = dict(zip(header, row, strict=True))
        numbers = {}
        for rule in ("ours", *RULES):
            found = re.findall(r"–|\d+", known[rule])[:5]
            numbers[rule] = [float("nan") if each == "–" else int(each) / 100 for each in found]
        yield (known["form"], known["noise"]), numbers, int(known["simulations"]), known["why"]


def error(share, count):
    """The standard error of a share that was simulated, of at least one in so many."""
    share = np.clip(share, 1 / count, 1 - 1 / count)
    return np.sqrt(share * (1 - share) / count)


def test_few_of_our_answers_are_false_or_the_page_says_why():
    page = {form: (numbers["ours"], count, why) for form, numbers, count, why in on_the_page()}
    assert list(page) == [(form.name, form.noise) for form in FORMS]
    for form, (numbers, count, why) in page.items():
        limit = 0.055 + 2 * error(0.05, count)
        assert why or np.nanmax(numbers[: len(EFFECTS)]) <= limit, form


@pytest.mark.slow
def test_the_page_has_what_is_simulated():
    page = {form: (numbers, count) for form, numbers, count, _ in on_the_page()}
    for row in rates(100).to_dict("records"):
        numbers, count = page[row["form"], row["noise"]]
        seen, told = np.array([row[name] for name in (*EFFECTS, "power")]), numbers[row["rule"]]
        assert (np.isnan(seen) == np.isnan(told)).all()
        far = np.abs(seen - told) - 0.01
        errors = np.hypot(error(told, row["simulations"]), error(told, count))
        assert np.nanmax(far / errors) < 4.5, row


def test_rules_of_others_answer_what_they_say_and_more_values_win_too_often():
    level = 80 + np.array([[[-1.0, 0.0, 1.0]]])
    answers = {name: of.item() for name, of in others(level + 2.5, level, paired=False).items()}
    # 2.5 is 3.1 % of 80; both sds are 1; t = 2.5 / √(2 / 3) = 3.06 with 4 degrees of freedom.
    assert answers == {"±1 %": 1, "±3 %": 1, "2σ": 1, "intervals": 0, "means": 1, "t test": 1}
    assert others(level + 2.0, level, paired=False)["t test"].item() == error_rates.NOTHING
    named = {form.name: form for form in FORMS if form.noise == "normal"}
    forms = (named[f"10 pairs, best of 8 values against {other}"] for other in ("best of 8", "1"))
    ours = [shares(form, 300)[0]["none"] for form in forms]
    assert ours[0] < 0.02 < ours[1]


def test_rates_are_printed_by_the_command(capsys, monkeypatch):
    monkeypatch.setattr(error_rates, "FORMS", FORMS[:2])
    assert main(["rates", "--simulations", "20"]) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header == "form,noise,rule,none,half,margin,two,power,same,simulations,why"
    assert len(rows) == 2 * (1 + len(RULES))
    assert main(["rates", "--simulations", "20", "--format", "markdown"]) == 0
    assert "| 3 pairs | normal | 0 0 " in capsys.readouterr().out
    assert main(["rates", "--simulations", "0"]) == 2
