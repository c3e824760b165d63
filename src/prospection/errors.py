"""Every error that prospection raises on purpose.

```
ProspectionError
├── InputError                 what the caller passed cannot be used
│   ├── ConversationError      not a conversation, or an empty one
│   ├── NaiveTimeError         an instant without a zone
│   └── UnknownUserError       a user who has no memory here
├── ConfigError                a setting, name or installation is wrong
│   ├── UnknownNameError       no model, encoder, policy or setting of that name
│   └── MissingExtraError      an optional package is not installed
├── StoreError                 the memory's file or server
│   ├── EncoderMismatchError   made with another encoder
│   ├── NewerDatabaseError     made by a newer version of prospection
│   ├── StorageFullError       the disk is full
│   └── ConflictError          somebody else changed what this write was based on
└── ModelError                 a call to a language model or an encoder's endpoint
    ├── EndpointError          unreachable, timed out, or failing on its side
    ├── CredentialError        the key was refused
    ├── RateLimitError         too many requests, after bounded retries
    ├── ReplyError             the reply never parsed; the raw text is kept
    │   └── TruncatedReplyError    the reply was cut at the model's output limit
    ├── NotRecordedError       a replayed model has no reply for this request
    ├── BudgetExceededError    the next call would pass a ceiling
    │   └── AllowanceError         a ceiling of the day, of one user or of all
    └── AnswerError            memory was searched, but the answer could not be made
```

A message says what happened, with the values, and what to do next.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prospection.types import Recall, Usage

__all__ = [
    "AllowanceError",
    "AnswerError",
    "BudgetExceededError",
    "ConfigError",
    "ConflictError",
    "ConversationError",
    "CredentialError",
    "EncoderMismatchError",
    "EndpointError",
    "InputError",
    "MissingExtraError",
    "ModelError",
    "NaiveTimeError",
    "NewerDatabaseError",
    "NotRecordedError",
    "ProspectionError",
    "RateLimitError",
    "ReplyError",
    "StorageFullError",
    "StoreError",
    "TruncatedReplyError",
    "UnknownNameError",
    "UnknownUserError",
]


class ProspectionError(Exception):
    """Base of all errors raised on purpose."""


class InputError(ProspectionError):
    """What the caller passed cannot be used."""


class ConversationError(InputError):
    """Not a conversation, or one without messages."""


class NaiveTimeError(InputError):
    """An instant without a zone; two people would read it as two different times."""


class UnknownUserError(InputError):
    """A user who has no memory in this store."""


class ConfigError(ProspectionError):
    """A setting, a name or the installation is wrong."""


class UnknownNameError(ConfigError):
    """No such name. The message offers the nearest known one, or the one that was surely meant."""

    def __init__(self, kind: str, name: str, known: Iterable[str], *, hint: str = "", meant: str | None = None) -> None:
        names = sorted(known)
        near = difflib.get_close_matches(name, names, n=1) if meant is None else [meant]
        offer = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(names)}."
        super().__init__(f"unknown {kind} {name!r}; {offer}{' ' + hint if hint else ''}")
        self.kind = kind
        self.name = name


class MissingExtraError(ConfigError):
    """An optional package is needed and is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional package; run: pip install 'prospection[{extra}]'")
        self.extra = extra


class StoreError(ProspectionError):
    """The file or server that holds the memory."""


class EncoderMismatchError(StoreError):
    """The store's vectors were made by another encoder; cosines across encoders mean nothing."""


class NewerDatabaseError(StoreError):
    """The store was written by a newer version of prospection."""


class StorageFullError(StoreError):
    """No space is left where the store lives; nothing of the refused write was kept, all earlier ones were."""


class ConflictError(StoreError):
    """What this write was based on was changed meanwhile by somebody else."""


class ModelError(ProspectionError):
    """A call to a language model or to an encoder's endpoint failed.

    Attributes:
        usage: What the failed attempts cost; failed calls are counted too.
    """

    def __init__(self, message: str, *, usage: Usage | None = None) -> None:
        super().__init__(message)
        self.usage = usage


class EndpointError(ModelError):
    """The endpoint is unreachable, did not answer in time, or failed on its side after bounded retries."""


class CredentialError(ModelError):
    """The endpoint refused the key, or no key is set."""


class RateLimitError(ModelError):
    """The endpoint asked to slow down, also after bounded retries."""


class ReplyError(ModelError):
    """The reply could not be parsed into what was asked for, also after a bounded number of retries.

    Attributes:
        raw: The last reply as it came.
    """

    def __init__(self, message: str, *, raw: str, usage: Usage | None = None) -> None:
        super().__init__(message, usage=usage)
        self.raw = raw


class TruncatedReplyError(ReplyError):
    """The reply was cut off at the model's output limit; asking the same again would be cut again."""


class NotRecordedError(ModelError):
    """A replayed model has no recorded reply for this stage and subject."""


class BudgetExceededError(ModelError):
    """The next call would pass a ceiling of the budget."""


class AllowanceError(BudgetExceededError):
    """The next call would pass a ceiling of the day; it may be made tomorrow.

    Attributes:
        user: Whose ceiling; None: that of all users together.
    """

    def __init__(self, message: str, *, user: str | None, usage: Usage | None = None) -> None:
        super().__init__(message, usage=usage)
        self.user = user


class AnswerError(ModelError):
    """Memory was searched, but the answer could not be made; what kept it from being made is the cause.

    Attributes:
        recall: What was found. Its `context` can be put before another assistant, or the answer asked for again.
    """

    def __init__(self, message: str, *, recall: Recall, usage: Usage | None = None) -> None:
        super().__init__(message, usage=usage)
        self.recall = recall
