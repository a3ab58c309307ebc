"""Chat templates, cut where passages and question go; the templates are of the kinds that models carry."""

import pytest

from models.errors import ChatTemplateError
from models.template import ChatTemplate

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
NO_SYSTEM = (
    "{% for message in messages %}{% if message['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}"
    "<start>{{ message['role'] }}\n{{ message['content'] | trim }}<end>\n{% endfor %}<start>model\n"
)
DROPS_SYSTEM = "{% for m in messages if m['role'] == 'user' %}[INST] {{ m['content'] }} [/INST]{% endfor %}"
THINKING = CHATML + "{% if enable_thinking is defined and enable_thinking %}<think>{% endif %}"


def frame(source, system="Be brief."):
    return ChatTemplate(source, "<s>", "</s>", "m").frame(system)


def test_the_system_message_stands_before_and_the_assistants_turn_after():
    found = frame(CHATML)
    assert found.before == "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n"
    assert found.after == "<|im_end|>\n<|im_start|>assistant\n"


@pytest.mark.parametrize("source", [NO_SYSTEM, DROPS_SYSTEM], ids=["refuses", "drops"])
def test_a_model_without_a_system_role_gets_it_in_the_users_turn(source):
    found = frame(source)
    assert found.before.endswith("Be brief.\n\n")
    assert found.after


def test_a_model_that_may_think_is_given_an_empty_thought():
    assert frame(THINKING).after.endswith("<think>\n\n</think>\n\n")
    assert "<think>" not in frame(CHATML).after


@pytest.mark.parametrize("source", ["", "{{ nothing }}", "{% for %}", "{{ raise_exception('never') }}"])
def test_a_template_that_cant_be_used_is_an_error_of_one_line(source):
    with pytest.raises(ChatTemplateError) as error:
        frame(source)
    assert "\n" not in str(error.value)
    assert "m" in str(error.value)


def test_a_template_cannot_reach_out_of_its_sandbox():
    source = "{{ ''.__class__.__mro__[1].__subclasses__() }}" + CHATML
    with pytest.raises(ChatTemplateError):
        frame(source)
