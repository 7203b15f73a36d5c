"""What the numbers of the ACL runtime mean, and which finding a learner sees for them. The texts are in acl_errors.toml."""
from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ..errors import Finding

try:
    import tomllib
except ModuleNotFoundError:          # Python 3.10
    import tomli as tomllib

_FILE = Path(__file__).resolve().parent.parent / "acl_errors.toml"
# What the device says in its log, next to a code (spelled as it prints them).
_LOG = {
    "0x800000": "a copy used an address of global memory that is out of range",
    "0x4000000000000000": "a vector instruction left UB",
    "(0,0x800,0)": "a vector instruction used an unaligned address of UB",
    "0x10": "an illegal instruction, often after an unaligned address of UB",
    "(0,0x4000,0)": "an instruction failed its address check",
}


@dataclass(frozen=True)
class AclCode:
    """One error code of the runtime."""
    code: int
    name: str
    meaning: str
    fix: str
    finding: str          # code of the finding it is shown as, "" for success

    def __str__(self) -> str:
        return f"{self.code}: {self.name}\n  {self.meaning}\n  Fix: {self.fix}"

    __repr__ = __str__

    def _repr_markdown_(self) -> str:
        return f"**`{self.code}`** {self.name}\n\n{self.meaning}\n\n*Fix:* {self.fix}"


@lru_cache(maxsize=1)
def _rows() -> list[tuple[int, int, dict]]:
    rows = []
    for key, fields in tomllib.loads(_FILE.read_text(encoding="utf-8")).items():
        first, _, last = key.partition("-")
        rows.append((int(first), int(last or first), fields))
    return rows


def known_codes() -> list[int]:
    """The first code of every page."""
    return [first for first, _, _ in _rows()]


def acl_error(code: int) -> AclCode:
    """The page of one code. A code without a page is explained by its family."""
    try:
        code = int(code)
    except (TypeError, ValueError):
        raise ValueError(f"{code!r} is no code of an ACL call: a whole number such as 107002") from None
    for first, last, fields in _rows():
        if first <= code <= last:
            return AclCode(code, **fields)
    family = {1: "the caller's argument", 2: "a resource of the device", 3: "a limit, or the runtime below aclnn",
              5: "the device or the inside of CANN"}.get(code // 100000, "an unknown part of CANN")
    return AclCode(code, "not in the list", f"This code has no page here; its first digit points at {family}.",
                   "aclGetRecentErrMsg and the first error in ~/ascend/log/debug/plog say more.", "CRASH")


def explain_log(text: str) -> str:
    """What the device's own error words in a message mean, "" when there are none."""
    found = [meaning for word, meaning in _LOG.items() if _stands_in(word, text)]
    return "; ".join(found)


def _stands_in(word: str, text: str) -> bool:
    at = text.find(word)
    while at >= 0:
        after = text[at + len(word):at + len(word) + 1]
        if not after.isalnum():
            return True
        at = text.find(word, at + 1)
    return False


def finding(call: str, code: int, text: str = "") -> Finding:
    """What a learner reads when an ACL call failed."""
    page = acl_error(code)
    message = f"{call} returned {code} ({page.name}). {page.meaning}"
    log = explain_log(text)
    if log:
        message += f"\nThe device says: {log}."
    if text.strip():
        message += f"\nCANN says: {' '.join(text.split())[:300]}"
    return Finding(page.finding or "CRASH", "error", None, message, page.fix)
