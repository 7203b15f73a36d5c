"""What compiler messages mean in Ascend C, and one concrete thing to change."""
from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from ..twin import elsewhere
from .names import api_names, enum_of, header_words, namespace_of, nearest as _nearest
from .scan import split as _split

# Names that are global in CANN, although most of the API lives in namespace AscendC.
_GLOBAL = re.compile(r"^(EVENT_ID\d|event_t|pipe_t|PIPE_\w+|GetTPipePtr|GetSysWorkSpacePtr|CubeFormat|QuantMode_t|pad_t|GM_ADDR|half|bfloat16_t)$")
# Of these the ones that no header declares.
_CUBE = re.compile(r"^(LoadImageToLocal|LoadUnzip|LoadDataWith|MmadWith|Matmul|REGIST_MATMUL_OBJ|Conv)\w*$")


@dataclass(frozen=True)
class Explained:
    code: str
    message: str
    hint: str = ""


def explain(said: str, notes: list[str], source: str) -> Explained | None:
    """Plain words for one message; None for a message that only follows from another one."""
    said = said.replace("\u2018", "'").replace("\u2019", "'")
    for pattern, rule in _RULES:
        match = re.search(pattern, said)
        if match:
            return rule(match, notes, source)
    return Explained("COMPILE", _sentence(plain(said)), "")


# ---- how a type or a message reads
_TYPES = [(r"\b(?:struct|class|enum) ", ""), (r"\bAscendC::", ""), (r"\btwin::", ""), (r"\b_Float16\b", "half"), (r"\s*\{aka [^{}]*\}", ""), (r"\s*\(aka '[^']*'\)", ""),
          (r"\blong unsigned int\b|\bunsigned long\b", "uint64_t"), (r"\blong int\b|\blong\b", "int64_t"),
          (r"\bshort unsigned int\b|\bunsigned short\b", "uint16_t"), (r"\bshort int\b|\bshort\b", "int16_t"),
          (r"\bunsigned char\b", "uint8_t"), (r"\bsigned char\b", "int8_t"), (r"\bunsigned int\b", "uint32_t"),
          (r"TPosition::", ""), (r"\(TPosition\)", ""), (r"<unresolved overloaded function type>", "a function")]


def plain(text: str) -> str:
    for pattern, better in _TYPES:
        text = re.sub(pattern, better, text)
    return text


def _sentence(text: str) -> str:
    text = text.strip()
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else text + "."


# ---- rules
# What a message of the headers is about, by its words; a code in front of the text ("OVERLAP: …") decides alone.
_ABOUT = [(r"not modelled|does not exist|no such call", "UNSUPPORTED_API"),
          (r"GM to GM|no path|position|reach|lives in", "WRONG_POSITION"),
          (r"takes? |version|element type|types?\b|convert", "UNSUPPORTED_TYPE")]


def _static_assert(match, notes, source):
    text = match[1].strip().strip('"').strip()
    code = re.match(r"([A-Z][A-Z0-9]+(?:_[A-Z0-9]+)*):\s+(.*)", text, re.S)
    name, text = (code[1], code[2]) if code else ("", text)
    name = name or next((c for words, c in _ABOUT if re.search(words, text)), "BAD_PARAMETER")
    message, mark, hint = text.partition(" Fix: ")
    if not mark:
        cut = next((m for m in re.finditer(r": |; ", text) if text.count("(", 0, m.start()) == text.count(")", 0, m.start())), None)
        message, hint = (text[:cut.start()], text[cut.end():]) if cut else (text, "")
    return Explained(name, _sentence(message), _sentence(hint) if hint else "")


def _unknown(match, notes, source):
    name, suggestion = match["name"], match.groupdict().get("near")
    if _GLOBAL.match(name) or name in ("__aicore__", "__global__", "__gm__", "GlobalTensor", "LocalTensor", "TPipe", "TQue"):
        if name in ("GM_ADDR", "__aicore__", "__global__", "__gm__", "half"):
            return Explained("COMPILE", f"{name} is not known here.", 'Put #include "kernel_operator.h" at the top of the text.')
    if name == "GET_TILING_DATA" or "TilingData" in name or name.startswith("twDefaultTiling"):
        return _tiling(match, notes, source)
    if name in api_names() and not _GLOBAL.match(name):
        space = namespace_of(name)
        return Explained("COMPILE", f"{name} is not known here: it lives in namespace {space}.",
                         f"Write {space}::{name}, or put using namespace {space}; after the includes.")
    enum = enum_of(name)
    if enum:
        return Explained("COMPILE", f"{name} is not declared here: it belongs to {enum}.", f"Write {enum}::{name}.")
    other = elsewhere.for_message(name)
    if other:
        return _not_here(name, other, source)
    if _CUBE.match(name):
        return Explained("UNSUPPORTED_API", f"{name} belongs to the cube unit, and the twin does not model it.", "LoadData, Mmad and Fixpipe are there; see the API table.")
    near = _nearest(name)
    if re.search(rf"\b{re.escape(name)}\s*(?:<[^;]*>)?\s*\(", source) and name[:1].isupper():
        return Explained("UNSUPPORTED_API", f"{name} is not a function the twin knows.",
                         f"The nearest name is {near}." if near else "If it is an Ascend C function, it is not modelled yet: see the API table.")
    near = suggestion or near
    return Explained("COMPILE", f"{name} is not declared here.", f"Did you mean {near}?" if near else "Declare it before this line, or check the spelling.")


def _not_here(name: str, other: elsewhere.Elsewhere, source: str) -> Explained:
    inner = re.search(rf"\b{name}\s*::\s*(\w+)", source)      # of a namespace the name in it says more
    if inner:
        name, other = f"{name}::{inner[1]}", elsewhere.for_message(inner[1]) or other
    return Explained("UNSUPPORTED_API", f"{name} {other.why}; Atlas A2 does not have it.", other.instead)


def _not_in_namespace(match, notes, source):
    name, space = match["name"], match["space"]
    if space == "AscendC":
        if _GLOBAL.match(name):
            return Explained("COMPILE", f"{name} is a global name, it is not in namespace AscendC.", f"Write {name} without AscendC:: .")
        other = elsewhere.for_message(name)
        if other:
            return _not_here(name, other, source)
        near = _nearest(name)
        return Explained("UNSUPPORTED_API", f"AscendC::{name} is not a name the twin knows.",
                         f"The nearest name is AscendC::{near}." if near else "If it is an Ascend C function, it is not modelled yet: see the API table.")
    near = difflib.get_close_matches(name, header_words(), 1, 0.75)
    return Explained("COMPILE", f"{plain(space)} has no member {name}.", f"Did you mean {near[0]}?" if near else "Check the spelling.")


def _no_member(match, notes, source):
    kind, name = plain(match["type"]), match["name"]
    if name == "GetOriginShape" or name == "GetStorageShape":
        return Explained("COMPILE", f"{kind} has no {name}.", "GetInputShape(i) returns a pointer: GetInputShape(i)->GetStorageShape().GetDim(d).")
    near = match.groupdict().get("near")
    return Explained("COMPILE", f"{kind} has no member {name}.", f"Did you mean {near}?" if near else "Check the spelling.")


_SCALAR_FORM = re.compile(r"^(Adds|Muls|Maxs|Mins|Subs|Divs|Duplicate|Axpy|LeakyRelu|ShiftLeft|ShiftRight|CompareScalar|SetValue|Compares|Ands|Ors|\w+Scalar)$")


def _no_match(match, notes, source):
    call = match["call"]
    name, types = _called(call)
    notes = [plain(n) for n in notes]
    if re.search(rf"\b{re.escape(name)}\s*\(\s*\)", source) and any(re.search("couldn't (?:deduce|infer) template", n) for n in notes):
        return Explained("COMPILE", f"{name}() does not say of which element type.", f"Name it: {name}<half>(), or another type.")
    if name.startswith("DataCopy") and (sum("GlobalTensor" in t for t in types[:2]) == 2 or (not types and _both_global(source, notes))):
        return Explained("WRONG_POSITION", f"{name} from GM to GM: both operands are GlobalTensor, and there is no such path.",
                         "Stage the data in UB: copy GM -> LocalTensor, then LocalTensor -> GM.")
    for note in notes:
        conflict = re.search(r"deduced conflicting types for parameter '(?:const )?(\w+)' \('([^']+)'(?: and | vs\. )'([^']+)'\)", note)
        if conflict:
            first, second = conflict[2], conflict[3]
            tensors = f"Tensor<{second}>" in " ".join(types) if types else not _SCALAR_FORM.match(name)
            if tensors:
                return Explained("UNSUPPORTED_TYPE", f"The operands of {name} have two element types, {first} and {second}.", "Cast one of them to the type of the other first.")
            return Explained("UNSUPPORTED_TYPE", f"{name} takes a scalar of the tensor's type: {first} here, but it got {second}.",
                             f"Cast the scalar: static_cast<{first}>(…).")
        address = re.search(r"no known conversion (?:for argument \d+ )?from '(?:GM_ADDR|uint8_t ?\*)'.* to '(?:[\w:<> ]*PrimType ?\*|(\w+) ?\*)'", note)
        if address and name == "SetGlobalBuffer":
            return Explained("COMPILE", "SetGlobalBuffer takes an address of the tensor's element type, and this is a plain GM_ADDR.",
                             "Cast it: SetGlobalBuffer((__gm__ half*)x, n), with the element type of the tensor.")
    forms = list(dict.fromkeys(f for f in (_form(n, name) for n in notes) if f))
    if types and "Tensor" in types[0]:       # of an overloaded name the forms for tensors are meant
        forms = [f for f in forms if "Tensor" in f] or forms
    counts = sorted({int(c) for n in notes for c in re.findall(r"requires(?: at least)? (\d+) argument", n)})
    if forms:
        hint = "It can be called as " + " or ".join(sorted(forms, key=len)[:2]) + "."
    elif counts and len(types) not in counts:
        hint = f"It takes {_or(counts)} argument{'' if counts == [1] else 's'}."
    else:
        hint = "Compare with the API table: order, types and number of the arguments."
    given = f"these {len(types)} arguments: ({', '.join(types)})" if types else "these arguments"
    return Explained("COMPILE", f"No form of {name} takes {given}.", hint)


def _form(note: str, name: str) -> str:
    """A candidate of g++ as one would call it: Add(LocalTensor<T>, LocalTensor<T>, LocalTensor<T>, int64_t)."""
    found = re.match(r"candidate: '(.*)'$", note)
    if not found:
        return ""
    text = re.sub(r" \[with .*", "", found[1])
    open_at = _open_bracket(text)
    called = re.search(rf"\b{re.escape(name)}$", text[:open_at].strip()) if open_at >= 0 else None
    if not called:
        return ""
    types = [re.sub(r"\bconst\b|&", "", t).strip() for t in _split(text[open_at + 1:text.rfind(")")])]
    return re.sub(r"\b(TQueBind|TBuf|TQue)<[^<>]*>", r"\1", f"{name}({', '.join(t for t in types if t != 'At')})")


def _called(call: str) -> tuple[str, list[str]]:
    """Name and argument types of "AscendC::TQue<…>::EnQue<half>(LocalTensor<half>&, int)"; clang gives the name only."""
    open_at = _open_bracket(call)
    head = call if open_at < 0 else call[:open_at]
    while head.rstrip().endswith(">"):                       # template arguments of the function itself
        depth, at = 0, len(head.rstrip())
        while at:
            at -= 1
            depth += (head[at] == ">") - (head[at] == "<")
            if depth == 0:
                break
        head = head[:at]
    name = re.search(r"(\w+)\s*$", head)
    types = [] if open_at < 0 else [t.rstrip("&").strip() for t in _split(plain(call[open_at + 1:call.rfind(")")]))]
    return name[1] if name else head, ["{…}" if t.startswith("<brace") else t for t in types]


def _open_bracket(text: str) -> int:
    """Position of the first ( outside of < >."""
    depth = 0
    for i, c in enumerate(text):
        depth += (c == "<") - (c == ">")
        if c == "(" and depth == 0:
            return i
    return -1


def _both_global(source: str, notes: list[str]) -> bool:
    """clang names no types: its notes say that each form wanted a LocalTensor in one place and got a GlobalTensor."""
    two = re.search(r"\w+\s*\(\s*(\w+)[^,()]*,\s*(\w+)", source)
    mismatch = any("match 'LocalTensor' against 'GlobalTensor'" in n for n in notes)
    return mismatch and not any("match 'GlobalTensor' against 'LocalTensor'" in n for n in notes) and bool(two)


def _or(counts) -> str:
    return " or ".join(map(str, counts))


def _tiling(match, notes, source):
    return Explained("COMPILE", "GET_TILING_DATA needs to know the tiling struct, and this text declares none.",
                     "Give it with tiling=…, or declare the struct before the kernel, or take it as a kernel parameter by value.")


def _expected(match, notes, source):
    what, where = match["what"], match["where"] or ""
    if "end of input" in where or what == "'}'":
        return Explained("COMPILE", "The text ends inside an open { block.", "Close every { with a }; the editor shows pairs when the cursor is on one.")
    if match[0].endswith("before string constant"):
        return Explained("COMPILE", 'Something above extern "C" is not finished.', "A class or struct ends with }; : look for a missing ; after its }.")
    if what == "';'" or "';' before" in match[0]:
        return Explained("COMPILE", "A ; is missing here.", "End the statement with ;")
    return Explained("COMPILE", _sentence(plain(match[0])), "")


def _ambiguous(match, notes, source):
    return Explained("COMPILE", f"{match['name']} is ambiguous: two namespaces in use declare it.", f"Say which one: AscendC::{match['name']}, or drop one using namespace.")


def _constant(match, notes, source):
    return Explained("COMPILE", "A const method calls something that changes the object.", "Remove const from the method, or call it on a tensor that is not const.")


def _no_header(match, notes, source):
    return Explained("COMPILE", f"The header {match['name']} was not found.", "Give its folder with include=[…], or check the name.")


def _private(match, notes, source):
    return Explained("COMPILE", f"{plain(match['name'])} is private.", "The members of a class are private up to the line public: ; put it above this one.")


def _queue_arguments(match, notes, source):
    return Explained("COMPILE", _sentence(plain(match[0])), "A queue has a position and a depth: TQue<TPosition::VECIN, 1>." if "TQue" in source else "")


def _convert(match, notes, source):
    if re.fullmatch(r"(Local|Global)Tensor<.*>", plain(match["a"])) and "Tensor" not in match["b"]:
        return Explained("COMPILE", _sentence(f"{plain(match['a'])} does not convert to {plain(match['b'])}"), "Use GetValue(index) for one element of a tensor.")
    return Explained("COMPILE", _sentence(f"{plain(match['a'])} does not convert to {plain(match['b'])}"),
                     "GM_ADDR is an address: cast it with (__gm__ T*) where a tensor of T is set." if "uint8_t*" in plain(match["a"]) else "Use an explicit static_cast, or another variable.")


def _operator(match, notes, source):
    sign, left, right = match["sign"], plain(match["a"]), plain(match["b"])
    if sign == "=" and "Tensor" in left and "Tensor" not in right:
        return Explained("COMPILE", f"A tensor element is not set with =: the left side is a {left}, the right side {right}.", "Use SetValue(index, value) for one element, Duplicate for all.")
    if sign == "=":
        return Explained("COMPILE", f"{right} cannot be assigned to {left}.", "Data moves between GM and local memory with DataCopy." if "Tensor" in left + right else "")
    return Explained("COMPILE", f"There is no {sign or 'operator'} for {left} and {right}.", "Tensors are computed by calls such as Add(dst, src0, src1, count)." if "Tensor" in left + right else "")


def _redefined(match, notes, source):
    return Explained("COMPILE", f"{plain(match['name'])} is defined twice.", "Rename one of them.")


def _too_many_braces(match, notes, source):
    return Explained("COMPILE", _sentence(plain(match[0])), "Look for a } too many above this line.")


def _follows(match, notes, source):
    return None


_RULES = [
    (r"static assertion failed(?: due to requirement '.*?')?:?\s*(?:\"?)(.+)", _static_assert),
    (r"static_assert failed(?: due to requirement '.*?')?\s*\"(.+)\"", _static_assert),
    (r"twDefaultTiling|TilingDefault", _tiling),
    (r"'(?P<name>[\w:]+)' is not a member of '(?P<space>[\w:]+)'", _not_in_namespace),
    (r"no (?:member|type|template) named '(?P<name>\w+)' in (?:namespace )?'(?P<space>AscendC|std)'", _not_in_namespace),
    (r"no (?:member|type|template) named '(?P<name>\w+)' in '(?P<type>[^']+)'(?:; did you mean '(?P<near>[^']+)')?", _no_member),
    (r"'(?P<type>[^']+)' has no member named '(?P<name>\w+)'(?:; did you mean '(?P<near>[^']+)')?", _no_member),
    (r"'(?P<name>[\w:~]+)' was not declared in this scope(?:; did you mean '(?P<near>[^']+)')?", _unknown),
    (r"use of undeclared identifier '(?P<name>[\w:~]+)'(?:; did you mean '(?P<near>[^']+)')?", _unknown),
    (r"'(?P<name>\w+)' does not name a type(?:; did you mean '(?P<near>[^']+)')?", _unknown),
    (r"'(?:::)?(?:AscendC::)?(?P<name>\w+)' has not been declared", _unknown),
    (r"no member named '(?P<name>\w+)' in the global namespace", _unknown),
    (r"unknown type name '(?P<name>\w+)'(?:; did you mean '(?P<near>[^']+)')?", _unknown),
    (r"no template named '(?P<name>\w+)'(?:; did you mean '(?P<near>[^']+)')?", _unknown),
    (r"'(?P<name>\w+)' is not a (?:class )?template", _unknown),
    (r"there are no arguments to '(?P<name>\w+)' that depend on a template parameter", _unknown),
    (r"no matching (?:member )?function for call to '(?P<call>.+)'", _no_match),
    (r"no matching constructor for initialization of '(?P<call>[^']+)'", _no_match),
    (r"reference to '(?P<name>\w+)' is ambiguous", _ambiguous),
    (r"passing 'const .*' as 'this' argument discards qualifiers", _constant),
    (r"'this' argument .* has type 'const .*', but (?:function|method) is not marked const", _constant),
    (r"(?P<name>[\w./]+): No such file or directory", _no_header),
    (r"'(?P<name>[\w./]+)' file not found", _no_header),
    (r"expected declaration before '}' token|extraneous closing brace", _too_many_braces),
    (r"expected (?P<what>'[^']+')(?: or '[^']+')* ?(?P<where>(?:before|at|after) .*)?", _expected),
    (r"expected (?:unqualified-id|primary-expression|initializer|declaration)[^;]*(?P<what>)(?P<where>)", _expected),
    (r"no match for 'operator(?P<sign>[^']+)'.*operand types are '(?P<a>[^']+)'(?: \{aka.*?\})? and '(?P<b>[^']+)'", _operator),
    (r"invalid operands to binary expression \('(?P<a>[^']+)'(?: \(aka.*?\))? and '(?P<b>[^']+)'(?P<sign>)", _operator),
    (r"no viable overloaded '(?P<sign>=)'(?P<a>)(?P<b>)", lambda m, n, s: Explained("COMPILE", "This value cannot be assigned here.", "Use SetValue(index, value) for an element of a tensor, DataCopy to move data.")),
    (r"conversion from '(?P<a>[^']+)'(?: \{aka.*?\})? to non-scalar type '(?P<b>[^']+)' requested", _convert),
    (r"cannot convert '(?P<a>[^']+)'(?: \{aka.*?\})? to '(?P<b>[^']+)'", _convert),
    (r"assigning to '(?P<b>[^']+)' from incompatible type '(?P<a>[^']+)'", _convert),
    (r"invalid conversion from '(?P<a>[^']+)'(?: \{aka.*?\})? to '(?P<b>[^']+)'", _convert),
    (r"cannot initialize .* of type '(?P<b>[^']+)' with an? \w+ of type '(?P<a>[^']+)'", _convert),
    (r"no viable conversion from '(?P<a>[^']+)'(?: \(aka.*?\))? to '(?P<b>[^']+)'", _convert),
    (r"'(?P<name>[^']+)' is (?:private within this context|a private member of .*)", _private),
    (r"wrong number of template arguments .*|too (?:few|many) template arguments .*", _queue_arguments),
    (r"redefinition of '(?P<name>[^']+)'", _redefined),
    (r"template argument \d+ is invalid|expected primary-expression before '>' token", _follows),
]
