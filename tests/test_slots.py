"""Which tokens are decoded where: slots over a double of llama.cpp that records every call."""

import pytest

from models.errors import PromptTooLongError
from models.llama import ContextSize, Row
from models.passage_cache import PassageCache
from models.slots import FIRST_SLOT, SPARE, SYSTEM, Slots, TokenPrompt

S, A, B, C = (1, 2, 3), (10, 11), (20, 21, 22), (25, 26)


class RecordingLlama:
    """Keeps for each sequence the (position, token) pairs that a real context would hold."""

    def __init__(self, tokens=64, sequences=5):
        self.size = ContextSize(tokens, sequences, 1, 512)
        self.cells = {s: [] for s in range(sequences)}
        self.decoded = []

    def decode(self, rows):
        for row in rows:
            self.decoded.append((row.sequence, tuple(row.tokens)))
            self.cells[row.sequence] += [(row.start + i, t) for i, t in enumerate(row.tokens)]
        return [None] * len(rows)

    def remove(self, sequence, start=-1, end=-1):
        low, high = max(start, 0), end if end >= 0 else 10**9
        self.cells[sequence] = [c for c in self.cells[sequence] if not low <= c[0] < high]

    def copy(self, source, target, start=-1, end=-1):
        low, high = max(start, 0), end if end >= 0 else 10**9
        self.cells[target] += [c for c in self.cells[source] if low <= c[0] < high]

    def shift(self, sequence, delta):
        self.cells[sequence] = [(p + delta, t) for p, t in self.cells[sequence]]

    def state(self, sequence):
        return repr(self.cells[sequence]).encode()

    def set_state(self, sequence, state):
        self.cells[sequence] = eval(state.decode())  # what `state` of this double wrote
        return True


def build(cache=True, **size):
    llama = RecordingLlama(**size)
    return llama, Slots(llama, PassageCache(None, 10**6, 0) if cache else None, "model", "1")


def load(llama, slots, passages, tail, reserve=0, busy=()):
    loaded = slots.load(TokenPrompt(S, passages, tail, reserve), busy)
    llama.decode([loaded.row])
    return loaded


def held(llama, loaded):
    cells = sorted(llama.cells[loaded.slot.sequence])
    assert [p for p, _ in cells] == list(range(len(cells))), "positions without gaps or doubles"
    return tuple(t for _, t in cells)


@pytest.mark.parametrize("cache", [True, False])
@pytest.mark.parametrize("passages", [(), (A,), (A, B), (B, A, B)])
def test_a_slot_holds_exactly_the_prompt(cache, passages):
    llama, slots = build(cache)
    loaded = load(llama, slots, passages, (7, 8, 9))
    assert held(llama, loaded) == (*S, *(t for p in passages for t in p), 7, 8, 9)
    assert llama.cells[SPARE] == []


def test_a_passage_is_decoded_once_whatever_its_place():
    llama, slots = build()
    load(llama, slots, (A, B), (7,))
    llama.decoded.clear()
    again = load(llama, slots, (B, A), (7,))
    assert [tokens for _, tokens in llama.decoded] == [(7,)]
    assert held(llama, again) == (*S, *B, *A, 7)
    assert again.reused == len(S) + len(A) + len(B)


def test_a_second_tail_decodes_only_where_it_differs():
    llama, slots = build()
    load(llama, slots, (A,), (5, 6, 7))
    llama.decoded.clear()
    loaded = load(llama, slots, (A,), (5, 6, 8, 9))
    assert llama.decoded == [(loaded.slot.sequence, (8, 9))]
    assert held(llama, loaded) == (*S, *A, 5, 6, 8, 9)


def test_the_same_prompt_again_decodes_its_last_token_for_the_logits():
    llama, slots = build()
    load(llama, slots, (A,), (5, 6))
    llama.decoded.clear()
    loaded = load(llama, slots, (A,), (5, 6))
    assert llama.decoded == [(loaded.slot.sequence, (6,))]
    assert held(llama, loaded) == (*S, *A, 5, 6)


def test_busy_slots_are_left_alone():
    llama, slots = build()
    first = load(llama, slots, (A,), (5, 6))
    second = load(llama, slots, (A,), (5, 7), busy=[first.slot])
    assert first.slot is not second.slot
    assert held(llama, first) == (*S, *A, 5, 6)


def test_another_system_prompt_forgets_everything():
    llama, slots = build()
    load(llama, slots, (A,), (5,))
    slots.load(TokenPrompt((9, 9), (A,), (5,)))
    assert sorted(llama.cells[SYSTEM]) == [(0, 9), (1, 9)]


def test_the_least_recently_used_slot_makes_room():
    llama, slots = build(tokens=24)
    first = load(llama, slots, (A,), (5, 6, 7))
    second = load(llama, slots, (B,), (5, 6, 7))
    load(llama, slots, (A, B), (8,), reserve=4)
    assert first.slot.passages != (A,) or llama.cells[first.slot.sequence] == []
    assert sum(len({p for p, _ in c}) for s, c in llama.cells.items() if s >= FIRST_SLOT) <= 24 + len(S)
    assert held(llama, second)


def test_only_so_many_tokens_of_earlier_prompts_stay(monkeypatch):
    monkeypatch.setattr("models.slots.IDLE", 9)
    llama, slots = build(sequences=7)
    first = load(llama, slots, (A,), (30, 31)).slot
    second = load(llama, slots, (B,), (40, 41)).slot
    assert len(llama.cells[first.sequence]) == 7
    third = load(llama, slots, (A, B), (50,), busy=(second,)).slot
    assert [bool(llama.cells[s.sequence]) for s in (first, second, third)] == [True, True, True]
    load(llama, slots, (), (60, 61))
    assert [bool(llama.cells[s.sequence]) for s in (first, second, third)] == [False, False, True]


def test_writing_an_answer_lets_go_of_what_holds_other_passages():
    llama, slots = build(sequences=8)
    mine, other, both = (load(llama, slots, passages, (30, 31)).slot for passages in ((A,), (B,), (A, B)))
    load(llama, slots, (A, C), (50,))
    assert all(llama.cells[s.sequence] for s in (mine, other, both))
    load(llama, slots, (A, C), (60,), reserve=4)
    assert [bool(llama.cells[s.sequence]) for s in (mine, other, both)] == [True, False, False]


def test_what_does_not_fit_is_refused():
    _, slots = build(tokens=16)
    with pytest.raises(PromptTooLongError):
        slots.load(TokenPrompt(S, (tuple(range(20)),), (5,)))
    with pytest.raises(PromptTooLongError):
        slots.load(TokenPrompt(S, (), (5,), reserve=20))


def test_dropped_slots_hold_nothing():
    llama, slots = build()
    loaded = slots.load(TokenPrompt(S, (A,), (5, 6)))
    slots.drop([loaded.slot])
    assert llama.cells[loaded.slot.sequence] == []
    assert held(llama, load(llama, slots, (A,), (5, 6))) == (*S, *A, 5, 6)


def test_prepare_leaves_no_cells_behind():
    llama, slots = build()
    assert slots.prepare(S, A)
    assert not slots.prepare(S, A)
    assert llama.cells[SPARE] == []
    llama.decoded.clear()
    load(llama, slots, (A,), (5,))
    assert [tokens for _, tokens in llama.decoded] == [(5,)]


def test_row_is_what_remains():
    _, slots = build()
    assert slots.load(TokenPrompt(S, (A,), (5, 6))).row == Row(FIRST_SLOT, len(S) + len(A), (5, 6))
