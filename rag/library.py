"""The object that a user holds: a folder of papers that can be added to, searched and asked.

Wires store, vectors, retrieval and models together and keeps each of them closed until it is needed. The work itself is
done elsewhere.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, overload

from models.protocols import Embedder, Generator
from rag.domain import Answer, Event, Hit, Paper, Turn
from rag.resources import Resources
from rag.settings import Settings, load_settings
from rag.stream import AnswerStream
