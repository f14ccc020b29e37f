"""Options by command line and environment, and errors that a person can read."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import pytest

from wardround_schemas.errors import ChartError, UserError
from wardround_schemas.options import Parser, run_program


def parser(environ: dict[str, str]) -> Parser:
    made = Parser(prog="wardround")
    made.option("--page-size", type=int, default=20, environ=environ)
    made.option("--writes", choices=("off", "capture"), default="capture", environ=environ)
    made.option("--resume", action="store_true", environ=environ)
    made.option("--model", required=True, environ=environ)
    return made


def test_an_option_comes_from_the_command_line_before_the_environment_before_its_default() -> None:
    environ = {"WARDROUND_PAGE_SIZE": "50", "WARDROUND_MODEL": "m"}
    assert parser({"WARDROUND_MODEL": "m"}).parse_args([]).page_size == 20
    assert parser(environ).parse_args([]).page_size == 50
    assert parser(environ).parse_args(["--page-size", "70"]).page_size == 70


def test_a_required_option_may_come_from_the_environment() -> None:
    assert parser({"WARDROUND_MODEL": "m"}).parse_args([]).model == "m"
    with pytest.raises(UserError, match="--model"):
        parser({}).parse_args([])


@pytest.mark.parametrize(
    ("word", "value"), [("1", True), ("YES", True), (" on ", True), ("0", False), ("", False)]
)
def test_a_flag_takes_words_for_true_and_false_from_the_environment(word: str, value: bool) -> None:
    environ = {"WARDROUND_RESUME": word, "WARDROUND_MODEL": "m"}
    assert parser(environ).parse_args([]).resume is value


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("WARDROUND_RESUME", "perhaps", "use 1 or 0"),
        ("WARDROUND_PAGE_SIZE", "many", "WARDROUND_PAGE_SIZE is 'many'"),
        ("WARDROUND_WRITES", "all", "one of off, capture"),
    ],
)
def test_a_faulty_value_in_the_environment_is_named_with_its_mend(name: str, value: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        parser({name: value, "WARDROUND_MODEL": "m"})


def test_help_names_the_environment_variable() -> None:
    assert "[env WARDROUND_PAGE_SIZE]" in parser({}).format_help()


@pytest.mark.parametrize("arguments", [["--nonsense"], ["--page-size", "x"], ["--writes", "forward"]])
def test_bad_usage_is_one_line_that_points_at_the_help(arguments: list[str]) -> None:
    with pytest.raises(UserError) as caught:
        parser({"WARDROUND_MODEL": "m"}).parse_args(arguments)
    assert str(caught.value).count("\n") == 0
    assert "wardround --help" in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_user_error_is_one_line_however_it_was_written() -> None:
    error = UserError("the file\n is\tbroken", mend="mend\nit")
    assert str(error) == "the file is broken: mend it"


def test_a_chart_error_is_one_bounded_line() -> None:
    error = ChartError("x\n" * 5000, status=503, retryable=True)
    assert "\n" not in str(error)
    assert len(str(error)) <= 2000
    assert (error.status, error.retryable) == (503, True)


def raising(error: BaseException) -> int:
    raise error


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (UserError("bad input", mend="mend it"), 2, "bad input: mend it"),
        (UserError("stopped", exit_code=3), 3, "stopped"),
        (ChartError("no answer"), 2, "the chart can't be read: no answer"),
        (KeyboardInterrupt(), 3, "interrupted"),
        (ValueError("a\nb"), 1, "internal error at test_options.py"),
    ],
)
def test_a_program_ends_with_one_line_and_an_exit_code(
    error: BaseException, code: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_program(lambda: raising(error)) == code
    written = capsys.readouterr()
    assert written.out == ""
    assert says in written.err
    assert written.err.count("\n") == 1
    assert "Traceback" not in written.err


def test_a_program_that_ends_well_gives_its_own_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_program(lambda: 0) == 0
    assert run_program(lambda: 1) == 1
    assert capsys.readouterr().err == ""


def test_the_traceback_of_a_fault_of_ours_is_there_for_who_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARDROUND_DEBUG", "1")
    with pytest.raises(ValueError, match="ours"):
        run_program(lambda: raising(ValueError("ours")))


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    script = tmp_path / "writes.py"
    script.write_text(
        "import sys\n"
        "from wardround_schemas.options import run_program\n"
        "def main():\n"
        "    for _ in range(100_000): print('line')\n"
        "    return 0\n"
        "sys.exit(run_program(main))\n"
    )
    command = f"'{sys.executable}' '{script}' | head -n 1; exit ${{PIPESTATUS[0]}}"
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "line\n", "")


def test_subcommands_complain_in_one_line_too() -> None:
    made = Parser(prog="wardround")
    actions = made.add_subparsers(dest="command", parser_class=Parser)
    assert isinstance(actions.add_parser("run"), argparse.ArgumentParser)
    with pytest.raises(UserError, match="invalid choice"):
        made.parse_args(["ru"])
