"""The tree of errors, whole. Every one is a single line that names the thing and the way out.

CiteboundError                     (models.errors)
├── ModelError                     (models.errors; exit 3)
│   ├── ModelMissingError          not on this machine: pull it
│   ├── ModelDamagedError          not the bytes that it should be: pull it again
│   ├── UnknownModelError          no such name or file
│   ├── DownloadError              no source answered, or wrong bytes came
│   ├── ChatTemplateError          the file carries no chat template
│   ├── PromptTooLongError         does not fit the context
│   ├── TextTooLongError           does not fit the embedder
│   └── GeneratorDiedError         the model stopped on a fault, or is closed
├── SettingsError                  a setting is unknown or out of range (exit 2)
├── QuestionError                  empty, too long, not text (exit 2)
│   └── FilterError                no filter, or no paper that meets it
├── ReadError                      a file can't be read as papers (exit 4)
└── LibraryError                   (exit 5)
    ├── LibraryMissingError        no library there
    ├── LibraryEmptyError          a library without papers
    ├── LibraryLockedError         another process is writing
    ├── LibraryDamagedError        a file of the library is not readable
    └── DiskFullError              nothing was half written
"""

from models.errors import (
    ChatTemplateError,
    CiteboundError,
    DownloadError,
    GeneratorDiedError,
    ModelDamagedError,
    ModelError,
    ModelMissingError,
    PromptTooLongError,
    TextTooLongError,
    UnknownModelError,
)


class SettingsError(CiteboundError):
    """A setting is unknown, of the wrong type or out of range."""

    exit_code = 2


class QuestionError(CiteboundError):
    """The question is empty, longer than the model's context, or not text."""

    exit_code = 2


class FilterError(QuestionError):
    """What should be a filter isn't one, or no paper of the library meets it."""


class ReadError(CiteboundError):
    """A file is missing, unreadable, in no known encoding, or holds no abstract."""

    exit_code = 4


class LibraryError(CiteboundError):
    """The library on disk can't be used as asked."""

    exit_code = 5


class LibraryMissingError(LibraryError):
    """There is no library at that path."""


class LibraryEmptyError(LibraryError):
    """The library holds no papers yet."""


class LibraryLockedError(LibraryError):
    """Another process is writing to the library."""


class LibraryDamagedError(LibraryError):
    """A file of the library can't be read; it says which, and how to mend it."""


class DiskFullError(LibraryError):
    """The disk filled up; what had been reported as added is kept, nothing is half added."""


__all__ = [
    "ChatTemplateError",
    "CiteboundError",
    "DiskFullError",
    "DownloadError",
    "FilterError",
    "GeneratorDiedError",
    "LibraryDamagedError",
    "LibraryEmptyError",
    "LibraryError",
    "LibraryLockedError",
    "LibraryMissingError",
    "ModelDamagedError",
    "ModelError",
    "ModelMissingError",
    "PromptTooLongError",
    "QuestionError",
    "ReadError",
    "SettingsError",
    "TextTooLongError",
    "UnknownModelError",
]
