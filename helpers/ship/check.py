"""What is wrong with an operator project before a build finds out: names, lists, registration, tiling, stale objects."""
from __future__ import annotations

import json
import re
from pathlib import Path

from ..build.scan import blank
from ..errors import Finding, counted
from .names import snake_case

_TYPES = {"float16", "fp16", "float", "float32", "bf16", "bfloat16", "double", "bool", "string", "complex64", "complex128",
          *(f"{s}int{n}" for s in ("", "u") for n in (8, 16, 32, 64)), "int4", "uint1", "qint8", "quint8", "qint16", "quint16", "qint32"}
_ATTRIBUTES = {"int", "float", "bool", "string", "str", "list_int", "list_float", "list_bool", "list_string", "list_list_int", "data_type", "type"}
_PARAMS = {"required", "optional", "dynamic"}


def check_description(data, name: str = "op.json") -> list[Finding]:
    """The operator description that msopgen reads."""
    out: list[Finding] = []

    def wrong(message: str, hint: str) -> None:
        out.append(Finding("BAD_PARAMETER", "error", None, message, hint, file=name))

    if not isinstance(data, list) or not data:
        wrong("The description is no list of operators.", 'Write [{"op": "AddCustom", "input_desc": […], "output_desc": […]}].')
        return out
    for op in data:
        title = op.get("op", "") if isinstance(op, dict) else ""
        if not isinstance(title, str) or not re.fullmatch(r"[A-Z][A-Za-z0-9]*", title):
            wrong(f'"op" is {title!r}: an operator type starts with a capital and has letters and digits only.', 'For example "op": "AddCustom".')
            continue
        lengths: dict[int, str] = {}
        for key in ("input_desc", "output_desc"):
            entries = op.get(key)
            if not isinstance(entries, list) or not entries:
                wrong(f"{title} has no {key}.", f'Give "{key}" a list with one entry per tensor.')
                continue
            for entry in entries:
                _tensor(entry, key, wrong, lengths)
        if len(lengths) > 1:
            rows = ", ".join(f"{who}: {n}" for n, who in sorted(lengths.items()))
            wrong(f"The tensors have different numbers of types ({rows}).", "Column i of all lists together is one supported combination: give every tensor as many types.")
        names = _names(op)
        twice = {n for n in names if names.count(n) > 1}
        if twice:
            wrong(f"The name {', '.join(sorted(map(str, twice)))} is used twice.", "An input and an output of one name are taken for one tensor that is changed in place.")
        attributes = op.get("attr") or []
        if not isinstance(attributes, list) or not all(isinstance(a, dict) for a in attributes):
            wrong(f"attr of {title} is no list of attributes.", '"attr": [{"name": "eps", "param_type": "optional", "type": "float"}]')
            continue
        for a in attributes:
            if str(a.get("type")) not in _ATTRIBUTES:
                wrong(f"Attribute {a.get('name')} has type {a.get('type')!r}.", f"Types of attributes: {', '.join(sorted(_ATTRIBUTES))}.")
    return out


def _names(op: dict) -> list[str]:
    lists = [op.get(key) for key in ("input_desc", "output_desc")]
    return [str(e["name"]) for entries in lists if isinstance(entries, list) for e in entries if isinstance(e, dict) and "name" in e]


def _tensor(entry, key: str, wrong, lengths: dict[int, str]) -> None:
    if not isinstance(entry, dict):
        wrong(f"{key} has an entry that describes no tensor: {entry!r}.", '{"name": "x", "param_type": "required", "format": ["ND"], "type": ["float16"]}')
        return
    name = entry.get("name", "?")
    if not re.fullmatch(r"[A-Za-z_]\w*", str(name)):
        wrong(f"{key} has an entry without a usable name: {name!r}.", "A name is a C++ identifier.")
    if str(entry.get("param_type")) not in _PARAMS:
        wrong(f"{name}: param_type is {entry.get('param_type')!r}.", f"It is one of {', '.join(sorted(_PARAMS))}.")
    types, formats = entry.get("type"), entry.get("format")
    if not isinstance(types, list) or not isinstance(formats, list):
        wrong(f"{name}: type and format are lists.", '"type": ["float16"], "format": ["ND"]')
        return
    if len(types) != len(formats):
        wrong(f"{name}: {counted(len(types), 'type')}, {counted(len(formats), 'format')}.", "Give one format for each type: the lists are read column by column.")
    else:
        lengths.setdefault(len(types), str(name))
    for t in types:
        if str(t) not in _TYPES:
            wrong(f"{name}: {t!r} is no type of a description.", "For example float16, float, bf16, int32.")


def check_project(folder) -> list[Finding]:
    """All of an operator project's folder; [] when nothing is wrong."""
    root = Path(folder)
    out: list[Finding] = []
    descriptions = [p for p in root.glob("*.json") if p.name != "CMakePresets.json"]
    ops = []
    for path in descriptions:
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            out.append(Finding("BAD_PARAMETER", "error", getattr(error, "lineno", None), f"This is no JSON: {error}.", "A comma too many or too few is the usual cause.", file=path.name))
            continue
        out += check_description(data, path.name)
        ops += [op for op in data if isinstance(op, dict) and isinstance(op.get("op"), str) and op["op"]] if isinstance(data, list) else []
    if not descriptions:
        out.append(Finding("BAD_PARAMETER", "error", None, "There is no operator description (*.json) in this folder.", "msopgen reads it: hp.ship writes one."))
    for op in ops:
        out += _files(root, op)
    return out


def _files(root: Path, op: dict) -> list[Finding]:
    snake, out = snake_case(op["op"]), []

    def wrong(file: str, message: str, hint: str, line: int | None = None, code: str = "BAD_PARAMETER") -> None:
        out.append(Finding(code, "error", line, message, hint, file=file))

    kernel = root / "op_kernel" / f"{snake}.cpp"
    if not kernel.exists():
        others = ", ".join(p.name for p in (root / "op_kernel").glob("*.cpp")) or "none"
        wrong("op_kernel", f"{op['op']} looks for the kernel in {snake}.cpp; files here: {others}.", f"Name file and function {snake}.")
    else:
        code = blank(kernel.read_text(encoding="utf-8", errors="replace"))
        names = re.findall(r"__global__[^;{(]*?\b(\w+)\s*\(", code)
        if snake not in names:
            wrong(kernel.name, f"{op['op']} looks for a kernel {snake}; kernels here: {', '.join(names) or 'none'}.", f"expected {snake}: rename the function.")
        stale = [p for p in root.glob("project/build_out/**/*.o") if p.stat().st_mtime < kernel.stat().st_mtime]
        if stale:
            wrong(stale[0].name, "The object is older than the kernel's source.", "Remove build_out and build again; then install the new package.", code="HOST_ARGUMENT")
    host = root / "op_host" / f"{snake}.cpp"
    if not host.exists():
        wrong("op_host", f"There is no {snake}.cpp.", f"Name the host file {snake}.cpp.")
        return out
    text = host.read_text(encoding="utf-8", errors="replace")
    code = blank(text)
    if not re.search(rf"\bOP_ADD\s*\(\s*{op['op']}\s*\)", code):
        wrong(host.name, f"{op['op']} is not registered.", f"OP_ADD({op['op']}); behind the class.")
    if not re.search(r"\bAddConfig\s*\(", code):
        wrong(host.name, "No AddConfig: the package would hold no binary for any SoC (561003 at run time).", 'this->AICore().AddConfig("ascend910b");')
    if re.search(r"\bset_\w+\s*\(", code) and not re.search(r"\bSaveToBuffer\s*\(", code):
        wrong(host.name, "The tiling function sets fields and never saves them: the kernel receives 0 bytes of tiling.", "tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), …->GetCapacity());", code="HOST_ARGUMENT")
    elif re.search(r"\bSaveToBuffer\s*\(", code) and not re.search(r"\bSetDataSize\s*\(", code):
        wrong(host.name, "SaveToBuffer without SetDataSize: the size of the tiling stays 0.", "context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());", code="HOST_ARGUMENT")
    declared = set(_names(op))
    registered = dict(re.findall(r'\b(?:Input|Output)\s*\(\s*"(\w+)"\s*\)([^;]*);', text))
    if registered.keys() != declared:
        wrong(host.name, f"The OpDef has {', '.join(sorted(registered)) or 'no tensors'}, the description {', '.join(sorted(declared))}.", "Use the same names in both.")
    for name, chain in registered.items():
        lists = {kind: len([t for t in body.split(",") if t.strip()]) for kind, body in re.findall(r"\b(DataType|Format)\s*\(\s*\{([^}]*)\}", chain)}
        if len(set(lists.values())) > 1:
            line = text[:text.index(f'"{name}"')].count("\n") + 1
            wrong(host.name, f"{name}: {counted(lists['DataType'], 'type')}, {counted(lists['Format'], 'format')}.", "Give one format for each type.", line)
    return out
