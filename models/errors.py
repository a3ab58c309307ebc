"""Errors of the model layer, and the root of the one error tree. Draws no conclusions and prints nothing.

Each message is one line that names the thing and the way out. ``rag.errors`` continues the tree and draws it whole.
"""


class CiteboundError(Exception):
    """Root of every error that Citebound raises on purpose; ``str(error)`` is one line fit for a user.

    ``exit_code`` is what the command line exits with.
    """

    exit_code = 1


class ModelError(CiteboundError):
    """Something is wrong with a model: its file, its template, its prompt."""

    exit_code = 3


class ModelMissingError(ModelError):
    """The model's file is not on this machine."""


class ModelDamagedError(ModelError):
    """The model's file is there but is not what the catalogue says, or can't be loaded."""


class UnknownModelError(ModelError):
    """No such name in the catalogue, and no such file."""


class DownloadError(ModelError):
    """No source gave the file, or the bytes that came are not the right ones."""


class ChatTemplateError(ModelError):
    """The model file carries no usable chat template."""


class PromptTooLongError(ModelError):
    """The prompt does not fit the model's context; nothing is cut off in silence."""


class TextTooLongError(ModelError):
    """A text is longer than the embedder reads; nothing is cut off in silence."""


class GeneratorDiedError(ModelError):
    """The model stopped on an unexpected fault, or was closed. After a fault the next question is served again."""
