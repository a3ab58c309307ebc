"""The passage cache on a real disk: budgets, order of leaving, crashes, damage, two processes."""

import multiprocessing
import os
import random
import signal
import time

import pytest

from models.passage_cache import SUFFIX, PassageCache, entry_key


def key(n: int) -> str:
    return entry_key("model", "1", (1, 2), (n,))


def payload(n: int, size: int = 1000) -> bytes:
    return random.Random(n).randbytes(size)


def test_gives_back_what_was_put(tmp_path):
    cache = PassageCache(tmp_path, 10_000, 10_000)
    cache.put(key(1), payload(1))
    assert cache.get(key(1)) == payload(1)
    assert cache.get(key(2)) is None
    assert (cache.counts.memory_hits, cache.counts.misses) == (1, 1)


def test_a_new_process_reads_what_the_last_one_wrote(tmp_path):
    PassageCache(tmp_path, 10_000, 10_000).put(key(1), payload(1))
    later = PassageCache(tmp_path, 10_000, 10_000)
    assert later.get(key(1)) == payload(1)
    assert later.counts.disk_hits == 1


@pytest.mark.parametrize(
    ("model", "runtime", "system", "passage"),
    [("other", "1", (1, 2), (3,)), ("m", "2", (1, 2), (3,)), ("m", "1", (1,), (3,)), ("m", "1", (1, 2), (4,)),
     ("m", "1", (1,), (2, 3))],
)  # fmt: skip
def test_key_changes_with_everything_the_states_depend_on(model, runtime, system, passage):
    assert entry_key(model, runtime, system, passage) != entry_key("m", "1", (1, 2), (3,))


def test_memory_budget_holds_and_the_least_used_goes_first():
    cache = PassageCache(None, 3_000, 0)
    for n in (1, 2, 3):
        cache.put(key(n), payload(n))
    cache.get(key(1))
    cache.put(key(4), payload(4))
    assert [cache.get(key(n)) is not None for n in (1, 2, 3, 4)] == [True, False, True, True]


def test_disk_budget_holds_and_the_least_used_goes_first(tmp_path):
    cache = PassageCache(tmp_path, 0, 3_500)
    for n in (1, 2, 3):
        cache.put(key(n), payload(n))
        os.utime(tmp_path / f"{key(n)}{SUFFIX}", (n, n))
    assert cache.get(key(1)) == payload(1)  # touches it
    cache.put(key(4), payload(4))
    assert cache.disk_bytes() <= 3_500
    assert cache.get(key(1)) is not None
    assert cache.get(key(2)) is None


def test_an_entry_larger_than_the_budget_is_not_kept(tmp_path):
    cache = PassageCache(tmp_path, 500, 500)
    cache.put(key(1), payload(1))
    assert cache.get(key(1)) is None
    assert not list(tmp_path.glob("*"))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda raw: raw[:-1],
        lambda raw: raw + b"x",
        lambda raw: raw[:60] + bytes([raw[60] ^ 1]) + raw[61:],
        lambda raw: b"",
        lambda raw: b"CBKV9999" + raw[8:],
        lambda raw: raw[:8] + bytes(32) + raw[40:],
    ],
    ids=["short", "long", "flipped bit", "empty", "other format", "another key's"],
)
def test_a_damaged_entry_is_never_trusted_and_leaves(tmp_path, spoil, caplog):
    PassageCache(tmp_path, 10_000, 10_000).put(key(1), payload(1))
    path = tmp_path / f"{key(1)}{SUFFIX}"
    path.write_bytes(spoil(path.read_bytes()))
    cache = PassageCache(tmp_path, 10_000, 10_000)
    assert cache.get(key(1)) is None
    assert cache.counts.damaged == 1
    assert not path.exists()
    assert "damaged" in caplog.text
    cache.put(key(1), payload(1))
    assert PassageCache(tmp_path, 10_000, 10_000).get(key(1)) == payload(1)


def test_a_disk_that_refuses_costs_the_entry_not_the_answer(tmp_path, caplog):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    cache = PassageCache(blocked, 10_000, 10_000)
    cache.put(key(1), payload(1))
    assert cache.get(key(1)) == payload(1)
    assert "can't write" in caplog.text


def _write_for_ever(folder):
    cache = PassageCache(folder, 0, 10**9)
    n = 0
    while True:
        cache.put(key(n % 50), payload(n % 50, 200_000))
        n += 1


def test_kill_at_any_moment_leaves_only_whole_entries(tmp_path):
    context = multiprocessing.get_context("spawn")
    for round_ in range(3):
        process = context.Process(target=_write_for_ever, args=(tmp_path,))
        process.start()
        deadline = time.monotonic() + 30
        while not list(tmp_path.glob(f"*{SUFFIX}")) and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.05 * round_)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        cache = PassageCache(tmp_path, 0, 10**9)
        found = [n for n in range(50) if (tmp_path / f"{key(n)}{SUFFIX}").exists()]
        assert found
        assert all(cache.get(key(n)) == payload(n, 200_000) for n in found)
        assert cache.counts.damaged == 0
