"""Formulas in plain text, such as those of docstrings, as formulas of LaTeX between dollars."""

from __future__ import annotations

import re
import unicodedata

#: Functions that formulas name.
NAMES = "pulls|pull|mix|sign|min|max|mean|cos|log|exp"
#: A word of a formula: functions, single letters (with an index), numbers and signs.
WORD = re.compile(
    rf"(?:(?:{NAMES})(?=[(|₂])|[A-Za-z](?![A-Za-z])|[Α-ω]|_[A-Za-z0-9]+|[_^]\(\S+?\)"
    "|[\\d.,…←→=≈≠≤≥<>+−·×/√‖|^()\\[\\]{}⁰²³⁺₁₂ᵢⱼΣ∞∈⌈⌉\u0302-\u0304])+[.,;:]?"
)
#: What makes a formula of words that may be text.
STRONG = re.compile(
    "[←=≈≠≤≥<>+·×√‖^⁰²³⁺₁₂ᵢⱼΣ_⌈Α-ω\u0302-\u0304]|−\\s?\\S|[A-Z]\\(|[a-z] ?/|^[B-HJ-Zb-z]$"
)
SIGNS = {
    **{"←": r"\leftarrow ", "→": r"\to ", "≈": r"\approx ", "≤": r"\le ", "≥": r"\ge "},
    **{"−": "-", "·": r"\cdot ", "×": r"\times ", "Σ": r"\sum ", "∈": r"\in "},
    **{"‖": r"\Vert ", "|": r"\vert "},
    **{"²": "^2", "³": "^3", "⁺": "^+", "ᵢ": "_i", "ⱼ": "_j", "…": r"\ldots ", "∞": r"\infty "},
    **{"⁰": "^0", "₁": "_1", "₂": "_2", "⌈": r"\lceil ", "⌉": r"\rceil "},
    **{"≠": r"\ne ", "{": r"\{", "}": r"\}"},
}


def with_formulas(text: str) -> str:
    """A paragraph of a docstring as Markdown: ```x``` is code, and formulas are between dollars."""
    parts = re.split(r"``(.+?)``", " ".join(text.split()))
    return "".join(f"`{part}`" if k % 2 else _in_text(part) for k, part in enumerate(parts))


def _in_text(text: str) -> str:
    """Text without code: the runs of words that are formulas become formulas."""
    made: list[str] = []
    run: list[str] = []
    for word in [*text.split(" "), ""]:
        fits = WORD.fullmatch(_apart(word)) and word.strip(".,;:") != "D²"
        if fits:
            run.append(word)
        if not fits or (word[-1:] in ".,;:" and _depth(run) <= 0):
            made += [_formula(" ".join(run))] * bool(run) + [word] * (not fits)
            run = []
    return " ".join(made[:-1])


def _apart(text: str) -> str:
    """Text with each accent after its letter; ≠ is a sign of its own."""
    return "≠".join(unicodedata.normalize("NFD", part) for part in text.split("≠"))


def _depth(run: list[str]) -> int:
    joined = "".join(run)
    return sum(map(joined.count, "([{")) - sum(map(joined.count, ")]}"))


def _formula(run: str) -> str:
    """A run of words as a formula, without the signs around it that belong to the text."""
    body = run.rstrip(".,;:")
    if _depth([body]) < 0 and body.endswith(")"):
        body = body[:-1]
    begin = "(" if body.startswith("(") and _depth([body]) > 0 else ""
    body = body[len(begin) :]
    after = run[len(begin) + len(body) :]
    inner = re.sub(r"^[aA] (?![←=<≤+−])|(?: (?:[←→=+−·×]|a))+$", "", body)
    if not STRONG.search(_apart(inner)) or _depth([inner]):
        return run.replace("|", r"\|")
    before, _, behind = body.partition(inner)
    return f"{begin}{before}${latex(inner)}${behind}{after}"


def latex(formula: str) -> str:
    r"""A formula in LaTeX: ``x_ij^(t+1)`` is ``x_{ij}^{t+1}``, and ``√n`` is ``\sqrt{n}``."""
    text = "".join(SIGNS.get(letter, letter) for letter in _apart(formula))
    text = re.sub(r"([_^])\(([^()]*(?:\([^()]*\))?[^()]*)\)", r"\1{\2}", text)
    text = re.sub(r"([_^])([A-Za-z0-9]{2,}|[α-ω])", r"\1{\2}", text)
    text = re.sub(r"√(\w+|\([^()]*\))", r"\\sqrt{\1}", text)
    for accent, name in (("\u0304", "bar"), ("\u0302", "hat"), ("\u0303", "tilde")):
        text = re.sub(rf"(\w){accent}", rf"\\{name}{{\1}}", text)
    return re.sub(rf"\b({NAMES})(?=[(\\_])", r"\\mathrm{\1}", text)
