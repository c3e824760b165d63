"""The JSON values of a file, one at a time, however large the file is.

In goes a binary file; out come its values with the bytes they stand in, so that each can be read again alone. Memory is
bounded by the largest value. The standard library's parser does the work: it is fast, and it says where it stopped,
which tells a value that has not been read to its end from a broken one.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from prospection.errors import ConversationError

__all__ = ["JsonValue", "json_values"]

_CHUNK = 1 << 20
_LARGEST = 1 << 29
"""Characters of one value; far beyond any conversation."""
_NEAR_THE_END = 16
"""An error so close to the end of what was read can be due to that end: the longest token is "-Infinity"."""
_NUMBER_GOES_ON = ("", ".", "e", "E")
_GAP = re.compile(r"[ \t\r\n,]*")
_DECODER = json.JSONDecoder(strict=False)  # exports hold raw control characters


@dataclass(frozen=True, slots=True)
class JsonValue:
    """A value and the half-open range of bytes it stands in."""

    data: Any
    start: int
    end: int


def json_values(file: BinaryIO, *, chunk: int = _CHUNK) -> Iterator[JsonValue]:
    """Read a file's values from its beginning: the items of a list at the top, or values that follow one another.

    Args:
        file: UTF-8, with or without a byte order mark.
        chunk: Bytes to read at once; more while a value is longer.

    Raises:
        ConversationError: It is not UTF-8 or not JSON, or ends in the middle of a value.
    """
    window = _Window(file, chunk)
    listed = window.enter_list()
    while (head := window.head()) not in (None, "]"):
        yield window.take()
    if listed and head is None:
        raise ConversationError(
            f"the file ends at byte {window.at} in the middle of a list: it was cut off; export or download it again"
        )


class _Window:
    """The part of the file that is being looked at. `at` is the byte at which its unread rest begins."""

    def __init__(self, file: BinaryIO, chunk: int) -> None:
        self._file, self._chunk = file, chunk
        self._decode = codecs.getincrementaldecoder("utf-8")().decode
        self._text, self._place, self._ended = "", 0, False
        self.at = 0

    def enter_list(self) -> bool:
        while not self._text and not self._ended:
            self._read_on()
        if self._text.startswith("\ufeff"):
            self._place, self.at = 1, len(codecs.BOM_UTF8)
        if self.head() != "[":
            return False
        self._place, self.at = self._place + 1, self.at + 1
        return True

    def head(self) -> str | None:
        """Return the next value's first character, or None at the end of the file."""
        while True:
            gap = _GAP.match(self._text, self._place)
            end = gap.end() if gap else self._place
            self._place, self.at = end, self.at + end - self._place  # what lies between values is ASCII
            if self._place < len(self._text):
                return self._text[self._place]
            if self._ended:
                return None
            self._read_on()

    def take(self) -> JsonValue:
        while True:
            try:
                data, end = _DECODER.raw_decode(self._text, self._place)
            except json.JSONDecodeError as error:
                if self._ended or not self._may_be_cut(error):
                    raise self._broken(error) from error
            except RecursionError as error:
                raise ConversationError(
                    f"the value at byte {self.at} is nested too deeply for a conversation"
                ) from error
            else:
                # At the very end a number may go on, and "1" is all that is seen of "1." and "1e".
                if self._ended or self._text[end : end + 1] not in _NUMBER_GOES_ON:
                    start, self.at = self.at, self.at + len(self._text[self._place : end].encode())
                    self._place = end
                    return JsonValue(data, start, self.at)
            self._read_on()

    def _read_on(self) -> None:
        rest = self._text[self._place :]
        if len(rest) > _LARGEST:
            raise ConversationError(f"the value at byte {self.at} is longer than {_LARGEST} characters; split the file")
        data = self._file.read(max(self._chunk, len(rest)))  # doubling: a long value is not parsed over and over
        self._ended = not data
        try:
            self._text, self._place = rest + self._decode(data, final=self._ended), 0
        except UnicodeDecodeError as error:
            raise ConversationError(f"the file is not text in UTF-8 (near byte {self.at}); save it as UTF-8") from error

    def _may_be_cut(self, error: json.JSONDecodeError) -> bool:
        """Tell whether what was read so far ends where the parser failed: more of it may be a value."""
        return error.msg.startswith("Unterminated string") or error.pos >= len(self._text) - _NEAR_THE_END

    def _broken(self, error: json.JSONDecodeError) -> ConversationError:
        where = self.at + len(self._text[self._place : error.pos].encode("utf-8", "surrogatepass"))
        if self._may_be_cut(error):
            return ConversationError(
                f"the file ends in the middle of the value that begins at byte {self.at}: it was cut off; "
                "export or download it again"
            )
        return ConversationError(f"the file is not JSON: {error.msg} at byte {where}; correct it there")
