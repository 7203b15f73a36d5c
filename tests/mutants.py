"""Small faults for the C++ of the twin: which places of a source can be wrong, and how.

A fault is one token exchanged, one condition negated, one pair of operands swapped or one statement left out. What an
operator says and costs, and the byte ranges it reports to the checker, is left alone: here the question is whether a wrong
*result* would be noticed.
"""
from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Iterator

# A binary operator stands between blanks in this code, so that templates, pointers and references are told apart.
_OPERATORS = {"+": "-", "-": "+", "*": "+", "/": "*", "%": "/", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&",
              "&": "|", "|": "&", "^": "&", "<<": ">>", ">>": "<<", "+=": "-=", "-=": "+=", "*=": "+=", "/=": "*=", "|=": "&=", "&=": "|="}
_WORDS = {"min": "max", "max": "min", "floor": "ceil", "ceil": "floor", "rint": "trunc", "nearbyint": "trunc", "trunc": "rint", "round": "rint",
          "true": "false", "false": "true", "kFloor": "kCeil", "kCeil": "kFloor", "kRint": "kTrunc", "kTrunc": "kRint", "kRound": "kRint", "kOdd": "kRint",
          "int16_t": "uint16_t", "int8_t": "uint8_t"}
_CLASS = {**{op: "arithmetic" for op in "+-*/%"}, **{op: "relation" for op in ("<", "<=", ">", ">=", "==", "!=")}, "&&": "logic", "||": "logic",
          **{op: "bits" for op in ("&", "|", "^", "<<", ">>")}}
_TOKEN = re.compile(r"""(?P<skip>//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'|^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*)|(?P<word>[A-Za-z_]\w*)|"""
                    r"(?P<number>0[xX][0-9a-fA-F']+\w*|(?:\d[\d']*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\w*)|(?P<op><<=|>>=|[-+*/%&|^<>=!]=|<<|>>|&&|\|\||->|\+\+|--|::|[^\s\w])", re.S | re.M)
# Calls whose arguments are messages, checks or costs.
_QUIET = re.compile(r"^(report|fatal|on_engine|local|operand|add|poison|adv_poison|mark_undefined|fmt|static_assert|describe|said_before|check\w*|vec_check\w*|adv_check\w*|note\w*|require\w*|set_cost|vec_cost|charge|steps?|scratch|cost\w*|needs?|snprintf|reserve|assert\w*|argument_at|\w*cost\w*|[A-Z][A-Z_0-9]+)$")
_QUIET_BODY = re.compile(r"^(?:\[\[\w+\]\] )?(?:static |inline |constexpr )*[\w:<>&* ]+?\b(?:\w*region\w*|scratch\w*|element_bytes|result_bytes|\w*_cost|cost_class|\w*note\w*|\w*text\w*|check\w*|bad_\w+|\w*_name|report\w*|operator<<)\([^;{}]*\) (?:const )?\{", re.M)
_QUIET_LINE = re.compile(r"vec_unit_here|^\s*(?:namespace|using|template|enum|#)\b|^\s*(?:alignas\(\w+\) )?[\w:]+(?: [\w:]+)? \w+\[\w+(?: \* \w+)?\](?:\[\w+\])?(?: = \{\})?;|\b(?:s_cycles|slope|head|in\.repeats|kChunk =)\b|return \"|const char\*|^\s*in\.(?:at|op|any_core|undef|detached|shape|elements)\b|^\s*(?:static )?(?:const )?u?int(?:8|16)_t \w+[ ;]")
_STATEMENT = re.compile(r"^[ \t]*(?P<guard>(?:else )?(?:if|for) \((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\) )?(?P<what>(?!return\b|const\b|static\b|auto\b|break\b|case\b|using\b|struct\b|namespace\b|template\b|delete\b|else\b|do\b|for\b|if\b)"
                        r"[\w.\[\]>()-]+?(?:\(.*\)| (?:[-+*/|&^]|<<|>>)?= .*));[ \t]*(?://.*)?$", re.M)
_CONDITION = re.compile(r"\bif \(")
_PAIR = re.compile(r"\b(?!memcpy|memset|memcmp|if|for|while|switch|min|max|fmt)(\w+)\(([\w.\[\]+]+), ([\w.\[\]+]+)\)")


@dataclass(frozen=True)
class Fault:
    unit: str                # file name
    line: int
    column: int
    kind: str                # "relation", "constant", "statement", ...
    old: str
    new: str
    start: int               # position in the text
    text: str                # the line as it is

    @property
    def name(self) -> str:
        """Stable as long as its line does not change."""
        return hashlib.sha256("\0".join((self.unit, self.text.strip(), str(self.column - len(self.text) + len(self.text.lstrip())), self.kind, self.old, self.new)).encode()).hexdigest()[:10]

    def apply(self, source: str) -> str:
        assert source.startswith(self.old, self.start), self
        return source[:self.start] + self.new + source[self.start + len(self.old):]

    def __str__(self) -> str:
        old, new = (re.sub(r"\s+", " ", s) for s in (self.old, self.new))
        return f"{self.unit}:{self.line}:{self.column} {self.kind}: {old} -> {new or 'nothing'}"


def faults(unit: str, source: str) -> list[Fault]:
    """Every fault that can be seeded into a source, in the order of the text."""
    starts = [0, *(m.end() for m in re.finditer("\n", source))]
    lines = source.split("\n")
    quiet = _quiet_spans(source)

    def make(start: int, old: str, new: str, kind: str) -> Fault | None:
        line = source.count("\n", 0, start)
        text = lines[line]
        if any(a <= start < z for a, z in quiet) or _QUIET_LINE.search(text):
            return None
        return Fault(unit, line + 1, start - starts[line] + 1, kind, old, new, start, text)

    found = [make(*spec) for spec in (*_tokens(source), *_statements(source), *_conditions(source), *_pairs(source))]
    return sorted({f.name: f for f in found if f}.values(), key=lambda f: (f.start, f.kind))


def _quiet_spans(source: str) -> list[tuple[int, int]]:
    """Comments, texts, directives, and the calls of _QUIET with all their arguments."""
    spans, tokens = [], list(_TOKEN.finditer(source))
    for i, m in enumerate(tokens):
        if m["skip"]:
            spans.append(m.span())
        elif m["word"] and _QUIET.match(m[0]) and i + 1 < len(tokens) and tokens[i + 1][0] == "(":
            depth = 0
            for t in tokens[i + 1:]:
                depth += {"(": 1, ")": -1}.get(t[0], 0)
                if depth == 0:
                    spans.append((m.start(), t.end()))
                    break
    for m in _QUIET_BODY.finditer(source):
        closed = "\n}" if source[m.end():m.end() + 1] == "\n" else "\n"          # a body of its own lines, or of one
        end = source.find(closed, m.end())
        spans.append((m.start(), len(source) if end < 0 else end + len(closed)))
    return spans


def _tokens(source: str) -> Iterator[tuple[int, str, str, str]]:
    for m in _TOKEN.finditer(source):
        at, text = m.start(), m[0]
        spaced = source[at - 1:at] == " " and source[m.end():m.end() + 1] in (" ", "\n")
        if m["op"] and text in _OPERATORS and spaced:
            yield at, text, _OPERATORS[text], _CLASS.get(text, "arithmetic")
        elif text == "-" and re.match(r"[\w(]", source[m.end():m.end() + 1]) and not spaced and re.search(r"[(,=?:] ?$", source[:at][-2:]):
            yield at, text, "", "sign"
        elif m["word"] and text in _WORDS:
            yield at, text, _WORDS[text], "width" if text.endswith("_t") else "word"
        elif m["number"] and not re.match(r"0[xX]|\d+[uUlL]*$", text):
            yield at, text, "1.5" if float(text.rstrip("fFlL")) == 0 else f"(1.5{'f' if text[-1] in 'fF' else ''} * {text})", "constant"
        elif m["number"]:
            yield at, text, f"({text} ^ 1)" if text[:2] in ("0x", "0X") else re.sub(r"^\d+", lambda d: str(int(d[0]) + 1), text.replace("'", "")), "constant"


def _statements(source: str) -> Iterator[tuple[int, str, str, str]]:
    for m in _STATEMENT.finditer(source):
        called = re.match(r"[\w.\[\]>-]*?(\w+)\(", m["what"])
        if "{" not in m["what"] and m["what"].count("(") == m["what"].count(")") and not (called and _QUIET.match(called[1])):
            yield m.start("what"), m["what"], "", "statement"


def _conditions(source: str) -> Iterator[tuple[int, str, str, str]]:
    for m in _CONDITION.finditer(source):
        depth, at = 0, m.end() - 1
        while True:
            depth += {"(": 1, ")": -1}.get(source[at], 0)
            at += 1
            if depth == 0:
                break
        whole = source[m.end() - 1:at]
        if not re.search(r"\b(fatal|report|checks_on|steps|note\w*|in\.(?:add|reg)|masked)\b|vec_unit_here", source[m.start():at + 60]):
            yield m.end() - 1, whole, f"(!{whole})", "condition"


def _pairs(source: str) -> Iterator[tuple[int, str, str, str]]:
    for m in _PAIR.finditer(source):
        alike = re.sub(r"\w+", "w", m[2]) == re.sub(r"\w+", "w", m[3])       # two elements, two members, two variables
        if m[2] != m[3] and alike and not re.match(r"\d+$", m[2] + m[3]) and not re.match(r"g$|at$", m[1]):
            yield m.start(), m[0], f"{m[1]}({m[3]}, {m[2]})", "operands"
