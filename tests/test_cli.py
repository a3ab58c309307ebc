"""The command line: arguments, exit codes, one-line errors, what goes to which stream."""

from __future__ import annotations

import errno
import io
import json
import logging
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from models.errors import CiteboundError
from rag import cli, errors
from rag.commands.base import Command
from rag.loading import FakeModels
from rag.output import Output, safe

ROOT = Path(__file__).resolve().parent.parent
ABSTRACTS = """OARFISH is a stroke planner for rowing robots. OARFISH needs 42 strokes per mile. It learns from tides.

Lighthouse keepers sleep badly in storms. We study LANTERN, a lamp that dims itself. LANTERN saves 12% of the oil.
"""


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    for name in [n for n in os.environ if n.startswith("CITEBOUND_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("CITEBOUND_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(sys, "stdin", None)
    return tmp_path / "home"


@pytest.fixture
def papers(tmp_path):
    path = tmp_path / "papers.txt"
    path.write_text(ABSTRACTS, encoding="utf-8")
    return path


def run(*argv, models=None, out=None, err=None):
    """Exit code, standard output, standard error of one command."""
    out, err = out or io.StringIO(), err or io.StringIO()
    code = cli.main([str(a) for a in argv], Output(out, err), models or FakeModels())
    return code, out.getvalue(), err.getvalue()


def program(*argv, **more):
    """The same in a process of its own, with whatever models the home has."""
    command = [sys.executable, "-m", "rag.cli", *map(str, argv)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, **more)


def one_line(text):
    return text.startswith("citebound: ") and text.endswith("\n") and text.count("\n") == 1


# --- help and usage


def test_help_lists_every_command():
    code, out, err = run("--help")
    assert (code, err) == (0, "")
    for command in cli.COMMANDS.values():
        assert f"    {command.name} " in out


@pytest.mark.parametrize("command", [name for name in cli.COMMANDS if name != "eval"])
def test_each_command_has_its_own_help(command):
    code, out, err = run(command, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"usage: citebound {command}")


def test_version():
    code, out, _ = run("--version")
    assert code == 0
    assert out.startswith("citebound 0.")


@pytest.mark.parametrize(
    "argv",
    [(), ("nonsense",), ("ask", "--nonsense", "x"), ("search", "-k", "0", "x"), ("search", "-k", "many", "x"),
     ("models",), ("models", "push"), ("add",), ("chat", "--port", "99999999"), ("--home", "x", "eval", "exam")],
)  # fmt: skip
def test_wrong_usage_is_one_line_that_names_the_help(argv):
    code, out, err = run(*argv)
    assert (code, out) == (2, "")
    assert one_line(err)
    assert "--help" in err


def test_a_wrong_setting_is_one_line(monkeypatch):
    monkeypatch.setenv("CITEBOUND_STRICTNESS", "7")
    code, _, err = run("status")
    assert code == 2
    assert one_line(err)
    assert "CITEBOUND_STRICTNESS" in err


# --- errors


def every_error():
    return [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, CiteboundError)]


def failing(monkeypatch, error):
    def fail(_):
        raise error

    monkeypatch.setitem(cli.COMMANDS, "status", Command("status", "", lambda parser: None, fail))


@pytest.mark.parametrize("kind", every_error())
def test_each_error_of_the_tree_exits_with_its_code_and_one_line(monkeypatch, kind):
    failing(monkeypatch, kind("the thing\nis broken; mend it"))
    code, out, err = run("status")
    assert (code, out) == (kind.exit_code, "")
    assert err == "citebound: the thing is broken; mend it\n"


def test_the_codes_of_the_tree_are_those_that_the_command_line_explains():
    explained = {line.split()[0] for line in (cli.__doc__ or "").splitlines() if line.strip()[:1].isdigit()}
    assert {str(kind.exit_code) for kind in every_error()} <= explained


def test_an_unexpected_error_is_one_line_without_a_traceback(monkeypatch):
    failing(monkeypatch, ZeroDivisionError("by nothing"))
    code, _, err = run("status")
    assert code == 1
    assert one_line(err)
    assert "ZeroDivisionError" in err
    assert "CITEBOUND_DEBUG=1" in err


def test_details_are_shown_when_asked_for(monkeypatch):
    monkeypatch.setenv("CITEBOUND_DEBUG", "1")
    failing(monkeypatch, ZeroDivisionError("by nothing"))
    _, _, err = run("status")
    assert "Traceback" in err


def test_ctrl_c_exits_130_without_a_word(monkeypatch):
    failing(monkeypatch, KeyboardInterrupt())
    assert run("status") == (130, "", "")


def test_a_reader_that_goes_away_is_no_error():
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "rag.cli", "models", "list"],
            cwd=ROOT,
            stdout=write,
            stderr=subprocess.PIPE,
            check=False,
        )
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


def test_a_full_disk_under_the_output_is_told():
    class Full(io.StringIO):
        def flush(self):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    code, _, err = run("models", "list", out=Full())
    assert code == 1
    assert one_line(err)
    assert os.strerror(errno.ENOSPC) in err


def test_without_models_asking_says_how_to_get_them(home):
    done = program("ask", "What is OARFISH?", env=os.environ | {"CITEBOUND_HOME": str(home)}, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout) == (3, "")
    assert one_line(done.stderr)
    assert "citebound models pull qwen2.5-coder-1.5b-instruct-q4_k_m all-minilm-l6-v2" in done.stderr


@pytest.mark.parametrize("command", [("chat",), ("prepare",), ("search", "x"), ("add", "x.txt")])
def test_without_models_the_other_commands_say_it_too(command, home):
    out, err = io.StringIO(), io.StringIO()
    assert cli.main(list(command), Output(out, err)) == 3
    assert one_line(err.getvalue())
    assert "citebound models pull" in err.getvalue()


# --- papers in, answers out


def test_add_makes_the_own_library_and_says_what_became_of_the_papers(papers, home):
    code, out, _ = run("add", papers)
    assert code == 0
    assert "2 added" in out
    assert (home / "library").is_dir()
    code, out, _ = run("add", papers, "--json")
    assert code == 0
    report = json.loads(out)
    assert len(report["unchanged"]) == 2
    assert report["added"] == []


def test_a_file_that_cannot_be_read_among_others_is_told_and_counts(papers, tmp_path):
    code, out, err = run("add", papers, tmp_path / "missing.txt")
    assert code == 4
    assert "2 added" in out
    assert "missing.txt" in err


def test_a_mistyped_path_leaves_no_empty_library_behind(papers, home, tmp_path):
    assert run("add", tmp_path / "missing.txt")[0] == 4
    assert not (home / "library").exists()
    run("add", papers)
    assert run("add", tmp_path / "missing.txt")[0] == 4
    assert "2 papers" in run("status")[1]


def test_ask_answers_with_sources(papers):
    run("add", papers)
    code, out, _ = run("ask", "How", "many", "strokes", "per", "mile", "does", "OARFISH", "need?")
    assert code == 0
    assert "42 strokes" in out
    assert "[1]" in out
    assert "Sources" in out


def test_ask_as_json_quotes_what_the_papers_say(papers):
    run("add", papers)
    code, out, _ = run("ask", "How many strokes per mile does OARFISH need?", "--json")
    answer = json.loads(out)
    assert code == 0
    assert answer["abstained"] is False
    cited = {citation["number"]: citation for citation in answer["citations"]}
    assert {n for sentence in answer["sentences"] for n in sentence["citations"]} == set(cited)
    for citation in cited.values():
        assert citation["quote"] in ABSTRACTS
        assert citation["end"] - citation["start"] == len(citation["quote"])


def test_an_abstention_is_an_answer_unless_asked_otherwise(papers):
    run("add", papers)
    unknown = "Which zebra invented quantum chromodynamics yesterday evening?"
    code, out, _ = run("ask", unknown)
    assert code == 0
    assert "The abstracts don't say." in out
    assert run("ask", unknown, "--exit-code")[0] == 10
    assert run("ask", "How many strokes per mile does OARFISH need?", "--exit-code")[0] == 0


def test_search_gives_k_passages_best_first(papers):
    run("add", papers)
    code, out, _ = run("search", "a lamp that saves oil", "-k", "1", "--json")
    found = json.loads(out)
    assert code == 0
    assert len(found) == 1
    assert "LANTERN" in found[0]["passage"]
    assert "LANTERN" in run("search", "a lamp that saves oil")[1].splitlines()[0]


def test_the_way_to_missing_models_leads_to_the_home_in_use(tmp_path):
    out, err = io.StringIO(), io.StringIO()
    assert cli.main(["search", "x", "--home", str(tmp_path / "a b")], Output(out, err)) == 3
    assert f"citebound --home '{tmp_path}/a b' models pull all-minilm-l6-v2" in err.getvalue()


def test_a_library_that_is_none_is_told(tmp_path):
    code, _, err = run("ask", "What is OARFISH?", "--library", tmp_path / "nothing")
    assert code == 5
    assert one_line(err)


def test_options_may_stand_before_or_after_the_command(papers, tmp_path):
    run("--library", tmp_path / "mine", "add", papers)
    after = run("search", "a lamp", "--library", tmp_path / "mine")
    assert after == run("--library", tmp_path / "mine", "search", "a lamp")
    assert after[0] == 0


def test_the_sample_library_is_made_on_first_use_and_told_on_standard_error(home):
    code, out, err = run("search", "a reranker of documents", "-k", "1")
    assert code == 0
    assert out.startswith("1. ")
    assert "sample library" in err
    assert (home / "sample").is_dir()
    assert run("search", "a reranker of documents", "-k", "1")[2] == ""


def test_status_names_library_and_models_and_makes_nothing(home, papers):
    code, out, _ = run("status")
    assert code == 0
    assert "sample library" in out
    assert not (home / "sample").exists()
    run("add", papers)
    assert "2 papers" in run("status")[1]


def test_prepare_reads_every_passage_once(papers):
    models = FakeModels()
    run("add", papers, models=models)
    assert run("prepare", models=models)[1].startswith("2 passages")
    assert run("prepare", models=models)[1].startswith("0 passages")


# --- questions on standard input


def piped(monkeypatch, data):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.mark.parametrize("argv", [("ask",), ("ask", "-")])
def test_a_question_can_be_piped_in(monkeypatch, papers, argv):
    run("add", papers)
    piped(monkeypatch, "How many strokes per mile does OARFISH need?\n".encode("utf-8-sig"))
    assert "42 strokes" in run(*argv)[1]


@pytest.mark.parametrize("data", [b"", b" \n", b"\xff\xfe\x00", b"a" * 1_000_001])
def test_what_is_no_question_on_standard_input_is_one_line(monkeypatch, data):
    piped(monkeypatch, data)
    code, out, err = run("ask", "-")
    assert (code, out) == (2, "")
    assert one_line(err)


def test_no_question_at_all_is_one_line():
    code, _, err = run("ask")
    assert code == 2
    assert one_line(err)


# --- models


def test_models_list_marks_what_is_in_use(home):
    code, out, _ = run("models", "list", "--json")
    listed = {model["name"]: model for model in json.loads(out)}
    assert code == 0
    assert {name for name, model in listed.items() if model["in_use"]} == {
        "qwen2.5-coder-1.5b-instruct-q4_k_m",
        "all-minilm-l6-v2",
    }
    assert all(model["state"] == "missing" for model in listed.values())
    assert run("models", "list")[1].count("*") == 3  # two models, and the line that explains it


def test_unknown_model_names_are_found_before_anything_is_fetched(home):
    code, _, err = run("models", "pull", "all-minilm-l6-v2", "gpt-17")
    assert code == 3
    assert one_line(err)
    assert not (home / "models").exists()


def test_verify_without_models_says_how_to_get_them():
    code, _, err = run("models", "verify")
    assert code == 3
    assert "citebound models pull" in err


# --- handing on


def test_eval_gets_its_arguments_as_they_are(monkeypatch):
    got = []
    module = types.SimpleNamespace(main=lambda argv, output: got.append(list(argv)) or 7)
    monkeypatch.setitem(sys.modules, "eval.__main__", module)
    assert run("eval", "exam", "--json", "--home", "x", "--help")[0] == 7
    assert got == [["exam", "--json", "--home", "x", "--help"]]


def test_chat_serves_the_library(monkeypatch, papers):
    served = []

    def serve(library, host, port, *, open_browser, announce):
        served.append((len(library), host, port, open_browser))
        announce("http://somewhere")

    monkeypatch.setitem(sys.modules, "ui.app", types.SimpleNamespace(serve=serve))
    run("add", papers)
    code, out, err = run("chat", "--port", "8123")
    assert (code, out) == (0, "")
    assert served == [(2, "127.0.0.1", 8123, False)]
    assert "http://somewhere" in err


# --- the output


def test_control_characters_never_reach_a_terminal():
    evil = "a\x1b[2Jb\x9bc\rd\u202ee\x07\ud800"
    assert safe(evil) == "a\ufffd[2Jb\ufffdc\ufffdd\ufffde\ufffd\ufffd"
    assert safe("two\nlines\tand a tab, Ünï 中文 👍🏽") == "two\nlines\tand a tab, Ünï 中文 👍🏽"
    out = io.StringIO()
    Output(out, io.StringIO()).data({"text": evil})
    assert not set("\x1b\x9b\r\u202e\x07\ud800") & set(out.getvalue())
    assert json.loads(out.getvalue())["text"] == evil


def test_what_our_packages_warn_of_is_told_once_and_not_after_the_command(monkeypatch):
    def warn(_):
        logging.getLogger("rag.vectors").warning("the index of %s is\ndamaged", "x")
        return 0

    monkeypatch.setitem(cli.COMMANDS, "status", Command("status", "", lambda parser: None, warn))
    for _ in range(2):
        assert run("status") == (0, "", "citebound: the index of x is damaged\n")
    assert logging.getLogger("rag").handlers == []


def test_a_draft_is_shown_on_a_terminal_and_the_answer_takes_its_place(papers, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    run("add", papers)
    code, out, _ = run("ask", "How many strokes per mile does OARFISH need?", out=Terminal())
    assert code == 0
    assert "Reading OARFISH" in out
    assert out.count("\x1b[2K") > 1  # lines of the draft are wiped
    assert out.rstrip().endswith("”")
    assert "\x1b" not in out[out.rindex("Sources") :]


def test_progress_on_a_pipe_is_plain_lines_and_no_news_is_told_twice():
    err = io.StringIO()
    with Output(io.StringIO(), err).progress("model", in_bytes=True) as step:
        for note in ("part 1 of 2", "part 1 of 2", "part 2 of 2"):
            step(note, 10_000_000, 20_000_000)
    assert err.getvalue().splitlines() == ["model: 10 of 20 MB, part 1 of 2", "model: 10 of 20 MB, part 2 of 2"]


def test_progress_on_a_terminal_shows_no_bar_when_there_was_nothing_to_do(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    err = Terminal()
    with Output(io.StringIO(), err).progress("nothing"):
        pass
    assert err.getvalue() == ""
    with Output(io.StringIO(), err).progress("something") as step:
        step("at it", 1, 2)
    assert "something" in err.getvalue()


# --- a library in step with a folder, written out, looked after


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "folder"
    made.mkdir()
    rows = [
        {"id": "1", "title": "Oarfish", "abstract": "OARFISH is a stroke planner for rowing robots.", "year": 2023},
        {"id": "2", "title": "Lantern", "abstract": "LANTERN is a lamp that saves 12% of the oil.", "year": 2024},
    ]
    (made / "papers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return made


def test_sync_adds_then_takes_out_what_is_gone_when_told_to(folder, tmp_path):
    lib = tmp_path / "lib"
    assert run("sync", folder, "--library", lib)[:2] == (0, "2 added\n")
    first = (folder / "papers.jsonl").read_text().splitlines()[0]
    (folder / "papers.jsonl").write_text(first + "\n")
    code, out, err = run("sync", folder, "--library", lib)  # nobody to ask
    assert (code, out) == (0, "1 unchanged\n")
    assert "Lantern" in err
    assert "--yes" in err
    code, out, _ = run("sync", folder, "--library", lib, "--yes", "--json")
    report = json.loads(out)
    assert (code, len(report["removed"]), len(report["unchanged"])) == (0, 1, 1)


@pytest.mark.parametrize(("answer", "removed"), [("y\n", True), ("\n", False), ("no\n", False)])
def test_sync_asks_on_a_terminal(folder, tmp_path, monkeypatch, answer, removed):
    run("sync", folder, "--library", tmp_path / "lib")
    (folder / "papers.jsonl").unlink()
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    code, out, err = run("sync", folder, "--library", tmp_path / "lib")
    assert code == 0
    assert "Take these 2 out of the library?" in err
    assert out == ("2 removed\n" if removed else "nothing to add\n")


def test_filters_reach_search_and_ask(folder, tmp_path):
    lib = ("--library", tmp_path / "lib")
    run("add", folder, *lib)
    _, out, _ = run("search", "what saves oil?", "-f", "year<2024", "--json", *lib)
    assert [hit["paper"]["title"] for hit in json.loads(out)] == ["Oarfish"]
    code, out, err = run("ask", "what saves oil?", "-f", "year>2030", *lib)
    assert (code, out) == (2, "")
    assert one_line(err)
    assert "year>2030" in err


@pytest.mark.parametrize("to", ["bibtex", "csl", "jsonl", "markdown", "ris"])
def test_export(folder, tmp_path, to):
    lib = ("--library", tmp_path / "lib")
    run("add", folder, *lib)
    code, out, _ = run("export", "--to", to, "-f", "year=2024", *lib)
    assert code == 0
    assert "LANTERN is a lamp" in out
    assert "OARFISH" not in out
    code, out, err = run("export", "--to", to, "--out", tmp_path / "papers.out", *lib)
    assert (code, out) == (0, "")
    assert "2 papers" in err
    assert "OARFISH" in (tmp_path / "papers.out").read_text()


def test_library_status_verify_rebuild_compact(folder, tmp_path):
    lib = ("--library", tmp_path / "lib")
    run("add", folder, *lib)
    code, out, _ = run("library", "status", *lib)
    assert code == 0
    assert "papers     2" in out
    assert "2023 to 2024" in out
    assert run("library", "verify", *lib)[1].endswith("2 papers, nothing is wrong\n")
    assert "2 papers made anew" in run("library", "rebuild", *lib)[1]
    assert "MB now" in run("library", "compact", *lib)[1]


def test_verify_names_damage_and_exits_5(folder, tmp_path):
    import sqlite3

    run("add", folder, "--library", tmp_path / "lib")
    with sqlite3.connect(tmp_path / "lib" / "library.db") as connection:
        connection.execute("UPDATE papers SET text = 'other'")
    code, out, err = run("library", "verify", "--library", tmp_path / "lib")
    assert code == 5
    assert "has another text than its id says" in out
    assert one_line(err)
    assert "library rebuild" in err


def test_format_and_columns_can_be_said(tmp_path):
    table = tmp_path / "table.dat"
    table.write_text("Name;Was steht drin\nOarfish;OARFISH is a stroke planner for rowing robots.\n")
    lib = ("--library", tmp_path / "lib")
    code, out, _ = run("add", table, "--format", "csv", "--column", "abstract=Was steht drin", *lib)
    assert (code, out) == (0, "1 added\n")
    code, _, err = run("add", table, "--format", "nonsense", *lib)
    assert code == 2
    assert one_line(err)
    assert "bibtex" in err
    code, _, err = run("add", table, "--column", "abstract", *lib)
    assert code == 2
    assert "FIELD=NAME" in err


def test_many_records_that_are_left_out_are_counted(tmp_path):
    rows = [{"id": n, "title": f"T{n}", "abstract": "" if n else "LANTERN is a lamp."} for n in range(60)]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    _, out, err = run("add", tmp_path / "p.jsonl", "--library", tmp_path / "lib")
    assert out == "1 added, 59 records skipped\n"
    assert err.count("has no abstract") == 50
    assert "9 more records" in err
