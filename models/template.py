"""A model's own chat template, cut where passages and question go. Talks to no model.

The template is rendered once a system prompt with marks in the user's turn; what stands before, between and after the
marks is kept. So passages can be tokenized on their own, and text from outside never meets the template's engine.
"""

from __future__ import annotations

from dataclasses import dataclass

from models.errors import ChatTemplateError

_PASSAGES = "citebound-passages-stand-here"
_QUESTION = "citebound-question-stands-here"


@dataclass(frozen=True, slots=True)
class TurnFrame:
    """What surrounds one user turn: ``before`` the passages (system message included), ``after`` the question."""

    before: str
    after: str


class ChatTemplate:
    """Cuts frames out of a template. Raises ChatTemplateError when there is none or it can't be used."""

    def __init__(self, source: str, bos: str, eos: str, model: str) -> None:
        if not source:
            raise ChatTemplateError(
                f"{model} carries no chat template, so Citebound can't speak to it; use an instruct model, "
                "for example one from `citebound models list`"
            )
        self._source, self._bos, self._eos, self._model = source, bos, eos, model

    def frame(self, system: str) -> TurnFrame:
        """The frame for a system prompt; models without a system role get it at the head of the user's turn."""
        marked = f"{_PASSAGES}{_QUESTION}"
        attempts = (
            [{"role": "system", "content": system}, {"role": "user", "content": marked}],
            [{"role": "user", "content": f"{system}\n\n{marked}"}],
        )
        problem = "it does not show the user's text"
        for messages in attempts:
            try:
                text = self._render(messages)
            except Exception as error:  # noqa: BLE001 - templates are foreign code and may raise anything
                problem = str(error)
                continue
            head, mark, tail = text.partition(marked)
            if mark and system in head:
                return TurnFrame(head, tail + self._no_reasoning())
        raise ChatTemplateError(f"the chat template of {self._model} can't be used: {problem}; try another model")

    def _render(self, messages: list[dict[str, str]]) -> str:
        from llama_cpp.llama_chat_format import Jinja2ChatFormatter

        render = Jinja2ChatFormatter(template=self._source, bos_token=self._bos, eos_token=self._eos)
        return str(render(messages=messages).prompt)

    def _no_reasoning(self) -> str:
        """Models that may think aloud get an empty thought: answers here are short and their first token counts."""
        return "<think>\n\n</think>\n\n" if "enable_thinking" in self._source else ""
