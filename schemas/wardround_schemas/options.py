"""Command-line options that can also be set by environment, shared by both programs.

Every option `--some-name` is read from `WARDROUND_SOME_NAME` where it is not given. Secrets have no
option: they come from the environment or from a file that an option names.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from .errors import UserError

TRUE_WORDS = frozenset({"1", "true", "yes", "on"})
FALSE_WORDS = frozenset({"0", "false", "no", "off", ""})


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are one line and whose options fall back to the environment."""

    def error(self, message: str) -> NoReturn:
        raise UserError(message, mend=f"see '{self.prog} --help'")

    def option(self, flag: str, *, environ: Mapping[str, str] = os.environ, **kwargs: Any) -> None:
        """Add an option; its default is the environment's value where that is set.

        A flag (`action="store_true"`) takes 1/true/yes/on or 0/false/no/off. A value from the
        environment goes through the same `type` and `choices` as one from the command line.
        """
        name = "WARDROUND_" + flag.lstrip("-").replace("-", "_").upper()
        raw = environ.get(name)
        note = f" [env {name}]"
        kwargs["help"] = (kwargs.get("help") or "") + note
        if raw is not None:
            kwargs["default"] = self._from_environment(name, raw, kwargs)
            kwargs.pop("required", None)
        self.add_argument(flag, **kwargs)

    def _from_environment(self, name: str, raw: str, kwargs: dict[str, Any]) -> Any:
        if kwargs.get("action") == "store_true":
            word = raw.strip().lower()
            if word not in TRUE_WORDS | FALSE_WORDS:
                raise UserError(f"{name} is {raw!r}", mend="use 1 or 0")
            return word in TRUE_WORDS
        convert: Callable[[str], Any] = kwargs.get("type") or str
        try:
            value = convert(raw)
        except (ValueError, argparse.ArgumentTypeError) as error:
            raise UserError(f"{name} is {raw!r}", mend=str(error)) from error
        choices = kwargs.get("choices")
        if choices is not None and value not in choices:
            raise UserError(f"{name} is {raw!r}", mend=f"one of {', '.join(map(str, choices))}")
        return value


def run_program(main: Callable[[], int]) -> int:
    """Run a program's main and turn the errors meant for its user into one line and an exit code.

    Returns main's exit code, a UserError's own, or 3 when the user interrupts. Anything else is a
    fault of ours: it is reported in one line too, with the place where it arose, and exit code 1;
    WARDROUND_DEBUG=1 shows the traceback.
    """
    from .errors import ChartError

    program = os.path.basename(sys.argv[0]) or "wardround"
    try:
        return main()
    except UserError as error:
        print(f"{program}: {error}", file=sys.stderr)
        return error.exit_code
    except ChartError as error:
        print(f"{program}: the chart can't be read: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader of our output has gone (`| head`): nothing more can be said to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print(f"{program}: interrupted", file=sys.stderr)
        return 3
    except Exception as error:  # the last line of defence: no traceback reaches a user
        if os.environ.get("WARDROUND_DEBUG", "") not in FALSE_WORDS:
            raise
        frame = error.__traceback__
        while frame is not None and frame.tb_next is not None:
            frame = frame.tb_next
        place = f"{os.path.basename(frame.tb_frame.f_code.co_filename)}:{frame.tb_lineno}" if frame else "?"
        text = " ".join(f"{type(error).__name__}: {error}".split())[:500]
        print(
            f"{program}: internal error at {place}: {text}: set WARDROUND_DEBUG=1 for details",
            file=sys.stderr,
        )
        return 1
