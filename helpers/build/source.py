"""What a kernel text declares, and the C++ file that is compiled for it."""
from __future__ import annotations

import re
from dataclasses import dataclass, field

from .reach import reach
from .scan import active, blank, closing, line_of, namespaces, split

KERNEL_TYPES = ("AIV_ONLY", "AIC_ONLY", "MIX_AIV_1_0", "MIX_AIC_1_0", "MIX_AIC_1_1", "MIX_AIC_1_2", "AICORE",
                "VECTORCORE", "MIX_AICORE", "MIX_VECTOR_CORE")
_TYPE_NUMBER = {f"KERNEL_TYPE_{name}": number for number, name in enumerate(KERNEL_TYPES)}
# Set by the twin's headers: which branches of a kernel file the compiler will see.
KNOWN = {"ASCENDC_CPU_DEBUG": 1, "__CCE_KT_TEST__": 1}
_WITH_ARGUMENTS = {"__mix__", "__schedmode__", "__attribute__", "__launch_bounds__", "alignas"}
_MIX = {("1", "0"): 3, ("0", "1"): 2, ("1", "1"): 4, ("1", "2"): 5}

# Names of the C library that are visible beside a kernel: a kernel of that name is renamed for the host compiler.
_C_NAMES = frozenset("""
acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh drem erf erfc exp exp2 exp10 expm1 fabs fdim finite floor
fma fmax fmin fmod frexp gamma hypot ilogb isfinite isinf isnan isnormal j0 j1 jn ldexp lgamma llrint llround log log10 log1p
log2 logb lrint lround modf nan nearbyint nextafter nexttoward pow remainder remquo rint round roundeven scalb scalbln scalbn
signbit significand sin sincos sinh sqrt tan tanh tgamma trunc y0 y1 yn abs labs llabs div ldiv lldiv abort exit atexit atof
atoi atol free malloc calloc realloc rand srand random srandom qsort bsearch system getenv putenv select index rindex memcpy
memset memmove memcmp memchr strlen strcmp strcpy printf puts putchar read write open close pipe link sync sleep signal raise
clock time remove rename""".split())


@dataclass(frozen=True)
class EntryPoint:
    """One launchable kernel."""
    name: str                       # as in `name=`: "add_custom", "k<half>"
    expression: str                 # as C++ writes it: "ns::k<half>"
    params: tuple[str, ...]
    kernel_type: int                # index into KERNEL_TYPES
    type_from: str                  # what told the kernel type, for messages
    line: int                       # 0-based line in the text
    task_types: dict = field(default_factory=dict, compare=False)   # tiling key text -> kernel type


@dataclass(frozen=True)
class Template:
    """A kernel template: launchable once its arguments are named."""
    name: str
    expression: str
    template_params: tuple[str, ...]
    params: tuple[str, ...]
    body: tuple[int, int]
    qualifiers: str
    line: int


@dataclass(frozen=True)
class Scan:
    text: str                       # ready to compile: same lines, same columns except on lines with <<<>>>
    entries: tuple[EntryPoint, ...]
    templates: tuple[Template, ...]
    renamed: dict                   # name in the compiled text -> the learner's name
    early_defines: tuple[str, ...]  # macros set before the first #include: they must precede the twin's headers


def scan(text: str, instances: tuple[str, ...] = (), known: dict[str, int] | None = None, arch: int = 2201) -> Scan:
    """Finds the kernels of a text. `instances`: template instances asked for, e.g. ("k<half>",)."""
    code = active(blank(text), {**KNOWN, **(known or {})})
    found = functions(code)
    rename = {f.name: _same_length(f.name, code) for f in found if f.name in _C_NAMES}
    asked: dict[str, list[str]] = {}
    for instance in (*instances, *_launched(code)):
        base, _, arguments = instance.partition("<")
        asked.setdefault(base.strip(), []).append(arguments.rstrip().removesuffix(">").strip())

    entries, templates = [], []
    for f in found:
        if not f.template_params:
            entries.append(_entry(f, f.name, _renamed(f.expression, f.name, rename), code, len(found), arch))
            continue
        templates.append(f)
        for arguments in dict.fromkeys(asked.get(f.name, [])):
            name, cpp = f"{f.name}<{arguments}>", f"{_renamed(f.expression, f.name, rename)}<{arguments}>"
            entries.append(_entry(f, name, cpp, code, len(found), arch))
    edits = _launch_edits(text, code, rename) + _rename_edits(code, rename)
    for start, end, replacement in sorted(edits, reverse=True):
        text = text[:start] + replacement + text[end:]
    return Scan(text, tuple(entries), tuple(templates), {new: old for old, new in rename.items()}, _early_defines(code))


def before_first_kernel(text: str, known: dict[str, int] | None = None) -> int | None:
    """Position where the declaration of the first kernel begins, or None when there is none."""
    code = active(blank(text), {**KNOWN, **(known or {})})
    kernel = re.search(r"\b__global__\b", code)
    if not kernel:
        return None
    start = _statement_start(code, kernel.start())
    between = re.compile(r"(?:\s+|#(?:\\\n|[^\n])*)*").match(code, start)
    return between.end() if between else start


# ---- finding functions
def functions(code: str) -> list[Template]:
    found: dict[str, Template] = {}
    for match in re.finditer(r"\b__global__\b", code):
        head = head_of(code, match.end())
        if head is None:
            continue
        name, name_at, open_at = head
        close_at = closing(code, open_at)
        if close_at < 0:
            continue
        start = _statement_start(code, match.start())
        prefix = code[start:match.start()]
        after = re.compile(r"\s*(?:noexcept\s*)?([{;])").match(code, close_at + 1)
        if not after or "<" in code[name_at:open_at]:     # explicit instantiation: the template itself is listed
            continue
        body = (after.start(1), closing(code, after.start(1))) if after[1] == "{" else (0, 0)
        template = re.search(r"\btemplate\s*(<)", prefix)
        arguments: tuple[str, ...] = ()
        if template:
            end = closing(prefix, template.start(1))
            arguments = tuple(split(prefix[template.start(1) + 1:end])) if end > 0 else ()
        entry = Template(name, "::".join([*namespaces(code, match.start()), name]), arguments, _parameters(code[open_at + 1:close_at]),
                         body, code[start:open_at], line_of(code, match.start()))
        known = found.get(entry.expression)
        if known and known.body != (0, 0) and after[1] == "{":    # an overload: kept apart, so that it can be refused
            found[f"{entry.expression} {entry.line}"] = entry
        elif not known or after[1] == "{":                        # a definition says more than its prototype
            found[entry.expression] = entry
    return list(found.values())


def head_of(code: str, at: int):
    """Name and opening bracket of the function whose declaration goes on at `at`."""
    token = re.compile(r"\s*(?:(\w+)|(\[)|(\()|(<)|([*&:\"]))")
    name, name_at = "", 0
    while True:
        match = token.match(code, at)
        if not match:
            return None
        if match[1]:
            name, name_at, at = match[1], match.start(1), match.end()
            if name in _WITH_ARGUMENTS:
                open_at = re.compile(r"\s*\(").match(code, at)
                end = closing(code, open_at.end() - 1) if open_at else -1
                if end < 0:
                    return None
                at, name = end + 1, ""
        elif match[3]:
            return (name, name_at, match.start(3)) if name and name != "void" else None
        elif match[2] or match[4]:
            end = closing(code, match.start(2) if match[2] else match.start(4))
            if end < 0:
                return None
            at = end + 1
        else:
            at = match.end()


def _statement_start(code: str, at: int) -> int:
    """Where the declaration begins that contains position `at`: after the last ; } { or directive before it."""
    return max(code.rfind(c, 0, at) for c in ";}{") + 1


def _parameters(text: str) -> tuple[str, ...]:
    names = []
    for number, part in enumerate(split(text)):
        part = re.sub(r"\[[^\]]*\]\s*$", "", part.split("=")[0].strip()).strip()
        if part == "void":
            continue
        words = re.findall(r"\w+", part)
        named = len(words) > 1 and re.search(r"[\w>*&]\s*[*&\s]\s*\w+$", part)
        names.append(words[-1] if named else f"arg{number}")
    return tuple(names)


# ---- kernel type
def _entry(f: Template, name: str, expression: str, code: str, kernels: int, arch: int) -> EntryPoint:
    body = code[f.body[0]:f.body[1] + 1] if f.body[1] > 0 else ""
    number, origin = _kernel_type(f, body, code if kernels == 1 else reach(code, body), arch)
    tasks = {k.strip(): _TYPE_NUMBER[v] for k, v in re.findall(r"\bKERNEL_TASK_TYPE\s*\(([^,()]+),\s*(KERNEL_TYPE_\w+)\s*\)", code)
             if v in _TYPE_NUMBER}
    return EntryPoint(name, expression, f.params, number, origin, f.line, tasks)


def _kernel_type(f: Template, body: str, reached: str, arch: int) -> tuple[int, str]:
    for area in (body, reached):
        stated = re.search(r"\bKERNEL_TASK_TYPE_DEFAULT\s*\(\s*(KERNEL_TYPE_\w+)\s*\)", area)
        if stated and stated[1] in _TYPE_NUMBER:
            return _TYPE_NUMBER[stated[1]], "KERNEL_TASK_TYPE_DEFAULT"
    mix = re.search(r"\b__mix__\s*\(\s*(\d)\s*,\s*(\d)\s*\)", f.qualifiers)
    if mix and mix.groups() in _MIX:
        return _MIX[mix.groups()], "__mix__"
    if re.search(r"\b__cube__\b", f.qualifiers):
        return 1, "__cube__"
    if re.search(r"\b__vector__\b", f.qualifiers):
        return 0, "__vector__"
    if arch == 2002:
        return _TYPE_NUMBER["KERNEL_TYPE_AICORE"], "the chip"
    cube = re.search(r"\b(REGIST_MATMUL_OBJ|Mmad|Matmul|MatmulImpl)\b", reached)
    vector = re.search(r"\b(VECIN|VECOUT|VECCALC)\b", reached)
    if cube and (vector or cube[1] != "Mmad"):
        return 5, "cube and vector code"
    # Flags between cores and SyncAll() without a workspace need the scheduler that only the MIX types start; the tool chain picks it by itself.
    flags = re.search(r"\b(CrossCoreSetFlag|CrossCoreWaitFlag|ffts_cross_core_sync|wait_flag_dev)\b", reached)
    if cube:
        return (3, "cube code with flags between cores") if flags else (1, "cube code")
    if re.search(r"\bSyncAll\b", reached):
        return 2, "vector code with SyncAll"
    return (2, "vector code with flags between cores") if flags else (0, "vector code")


# ---- edits that let a host compiler read the text
def _launch_edits(text: str, code: str, rename: dict) -> list[tuple[int, int, str]]:
    edits = []
    for match in re.finditer(r"<<<", code):
        end = code.find(">>>", match.end())
        name_at = _launched_name(code, match.start())
        if end < 0 or name_at is None:
            continue
        name = text[name_at:match.start()].strip()
        name = rename.get(name, name)
        edits.append((name_at, end + 3, f"twin::host_launch({text[match.end():end]}, &{name})"))
    return edits


def _launched_name(code: str, at: int) -> int | None:
    """Start of `ns::name<args>` that ends at `at`."""
    i = len(code[:at].rstrip())
    if i and code[i - 1] == ">":
        depth = 0
        while i:
            i -= 1
            depth += (code[i] == ">") - (code[i] == "<")
            if depth == 0:
                break
    match = re.search(r"[\w:]+\s*$", code[:i])
    return match.start() if match else None


def _launched(code: str) -> list[str]:
    """Template instances that the text itself launches or instantiates."""
    found = []
    for match in re.finditer(r"<<<", code):
        start = _launched_name(code, match.start())
        if start is not None and "<" in code[start:match.start()]:
            found.append(code[start:match.start()].strip().split("::", code[start:match.start()].split("<")[0].count("::"))[-1])
    for match in re.finditer(r"\btemplate\s+(?!<)[^;{()]*?\b__global__\b[^;{(]*?\b(\w+)\s*(<)", code):
        end = closing(code, match.start(2))
        if end > 0:
            found.append(match[1] + code[match.start(2):end + 1])
    return found


def _renamed(expression: str, name: str, rename: dict) -> str:
    return expression[:len(expression) - len(name)] + rename.get(name, name)


def _same_length(name: str, code: str) -> str:
    """A free name of the same length, so that columns in compiler messages stay right."""
    used = set(re.findall(r"\w+", code)) | _C_NAMES
    for last in "_0123456789QWXZ":
        candidate = name[:-1] + last
        if candidate not in used:
            return candidate
    return name + "_kernel"


def _rename_edits(code: str, rename: dict) -> list[tuple[int, int, str]]:
    # Launch expressions are rewritten as a whole, with the name in them.
    edits = []
    for old, new in rename.items():
        for match in re.finditer(rf"(?<!std::)\b{re.escape(old)}\b", code):
            line_start = code.rfind("\n", 0, match.start()) + 1
            if not re.match(r"[ \t]*#[ \t]*include", code[line_start:match.start()]) and not _inside_launch(code, match.start()):
                edits.append((match.start(), match.end(), new))
    return edits


def _inside_launch(code: str, at: int) -> bool:
    return bool(re.match(r"\w+\s*<<<", code[at:]))


def _early_defines(code: str) -> tuple[str, ...]:
    first = re.search(r"^[ \t]*#[ \t]*include\b", code, re.M)
    head = code[:first.start()] if first else ""
    return tuple(re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", head, re.M))


# ---- the compiled file
def generate(found: Scan, label: str, first_line: int, prologue: str = "", tiling: str = "") -> str:
    """The C++ file: macros, tiling struct, the learner's text at its own line numbers, the table of entries."""
    parts = [prologue]
    if tiling:
        parts += ['#line 1 "<tiling>"', tiling]
    parts += [f'#line {first_line} "{escaped(label)}"', found.text, '#line 1 "<entry>"', '#include "twin/entry.h"', "TWIN_ENTRIES_BEGIN"]
    for entry in found.entries:
        names = ",".join(entry.params)
        parts.append(f'TWIN_ENTRY("{escaped(entry.name)}", "{names}", {entry.kernel_type}, ::{entry.expression})')   # :: because an API call may have this name too
    parts.append("TWIN_ENTRIES_END")
    return "\n".join(p for p in parts if p) + "\n"


def escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
