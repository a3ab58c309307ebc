"""The thread in front of the model: order, errors, streams, closing."""

import threading

import pytest

from models.errors import GeneratorDiedError, PromptTooLongError
from models.worker import Worker


@pytest.fixture
def worker():
    worker = Worker("test")
    yield worker
    worker.close()


def test_runs_on_one_thread_in_order(worker):
    seen = []
    futures = [worker.submit(lambda n=n: seen.append((n, threading.get_ident()))) for n in range(20)]
    for future in futures:
        future.result()
    assert [n for n, _ in seen] == list(range(20))
    assert len({ident for _, ident in seen}) == 1
    assert seen[0][1] != threading.get_ident()


def test_our_errors_come_through_as_they_are(worker):
    def fail():
        raise PromptTooLongError("too long")

    with pytest.raises(PromptTooLongError, match="too long"):
        worker.call(fail)
    assert worker.call(lambda: 1) == 1


def test_other_errors_become_one_of_ours_and_the_thread_lives(worker):
    with pytest.raises(GeneratorDiedError, match="ZeroDivisionError"):
        worker.call(lambda: 1 / 0)
    assert worker.call(lambda: 2) == 2


def test_stream_yields_while_the_function_runs(worker):
    go = threading.Event()

    def produce(emit):
        emit("a")
        assert go.wait(10)
        emit("b")

    stream = worker.stream(produce)
    assert next(stream) == "a"
    go.set()
    assert list(stream) == ["b"]


def test_stream_raises_after_what_was_emitted(worker):
    def produce(emit):
        emit("a")
        raise PromptTooLongError("late")

    stream = worker.stream(produce)
    assert next(stream) == "a"
    with pytest.raises(PromptTooLongError):
        next(stream)


def test_closed_worker_refuses(worker):
    worker.close()
    worker.close()
    with pytest.raises(GeneratorDiedError, match="closed"):
        worker.call(lambda: 1)


def test_the_last_function_runs_after_all_that_was_queued(worker):
    seen = []
    for n in range(3):
        worker.submit(lambda n=n: seen.append(n))
    worker.close(lambda: seen.append("last"))
    assert seen == [0, 1, 2, "last"]
