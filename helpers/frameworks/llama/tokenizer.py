"""Text to numbers and back: byte pair encoding as GPT-2 does it, and single bytes for the small model."""
from __future__ import annotations

import re
from functools import lru_cache

# Words, numbers digit by digit, other signs, spaces. \p{L} and \p{N} of the original in Python's terms.
_PIECES = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[^\W\d_]+|\d| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")
_SPECIAL = re.compile(r"(<\|\w+\|>)")


class Bytes:
    """Every byte is a token."""
    end = -1

    def encode(self, text: str) -> list[int]:
        return list(text.encode())

    def decode(self, tokens) -> str:
        return bytes(t % 256 for t in tokens).decode(errors="replace")

    def chat(self, question: str) -> list[int]:
        return self.encode(question)


class Tokenizer:
    """Byte pair encoding: the pair of neighbours that comes first in the list of merges is joined, again and again."""

    def __init__(self, words: list[str], merges: list[str], end: int):
        self.words, self.end = words, end
        self.numbers = {word: i for i, word in enumerate(words)}
        self.ranks = {tuple(pair.split(" ")): rank for rank, pair in enumerate(merges)}
        self.letters = _letters()
        self.bytes = {letter: byte for byte, letter in self.letters.items()}

    def encode(self, text: str) -> list[int]:
        out = []
        for part in _SPECIAL.split(text):
            if part in self.numbers and _SPECIAL.fullmatch(part):
                out.append(self.numbers[part])
            else:
                out += [self.numbers[word] for piece in _PIECES.findall(part) for word in self._join(piece)]
        return out

    def decode(self, tokens) -> str:
        text = "".join(self.words[t] for t in tokens)
        return bytes(self.bytes[c] for c in text if c in self.bytes).decode(errors="replace")

    def chat(self, question: str) -> list[int]:
        """The question in the form that this model was trained with."""
        return self.encode(f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n")

    def _join(self, piece: str) -> list[str]:
        parts = [self.letters[b] for b in piece.encode()]
        while len(parts) > 1:
            ranked = [(self.ranks.get(pair, len(self.ranks)), i) for i, pair in enumerate(zip(parts, parts[1:]))]
            rank, at = min(ranked)
            if rank == len(self.ranks):
                break
            parts[at:at + 2] = [parts[at] + parts[at + 1]]
        return parts


@lru_cache(maxsize=None)
def _letters() -> dict[int, str]:
    """A printable letter for each byte: its own where it is printable, else one from 256 on."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in printable]
    return {**{b: chr(b) for b in printable}, **{b: chr(256 + i) for i, b in enumerate(others)}}
