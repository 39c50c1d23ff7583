"""The command line: `evcore`. Each command is in a file of `evcore.commands`.

Nothing of it is imported before `main`, so that Ctrl-C is quiet from the first moment on.
"""

import contextlib
import logging
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; its exit status. Errors that a user can mend are a sentence."""
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    from evcore.commands import errors  # noqa: PLC0415
    from evcore.commands.app import app  # noqa: PLC0415
    from evcore.commands.running import Interrupted  # noqa: PLC0415

    words = sys.argv[1:] if arguments is None else arguments
    command_line = app(words)
    signal.signal(signal.SIGINT, before)
    _prepare_streams()
    try:
        status: Any = command_line(words, prog_name="evcore", standalone_mode=False)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as end:
        # typer makes a SystemExit of a closed pipe, and nothing else here does.
        if isinstance(end, SystemExit) and not isinstance(end.__context__, BrokenPipeError):
            raise
        _forget_stdout()
        return errors.PIPE_CLOSED
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except Interrupted as interrupted:
        return interrupted.status
    except Exception as err:
        if errors.wants_traceback():
            raise
        help_text = errors.help_of(err)
        for line in [help_text] if help_text else map("evcore: {}".format, errors.sentences(err)):
            _say(line)
        return errors.status_of(err)
    return status if isinstance(status, int) else 0


def _prepare_streams() -> None:
    """Make sure that whatever is printed can be, whatever the locale and the streams are."""
    for name in ("stdout", "stderr"):
        stream: Any = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    # What libraries log is not for the terminal; `up` and `demo` keep it in a file.
    logging.getLogger().addHandler(logging.NullHandler())


def _say(line: str) -> None:
    with contextlib.suppress(OSError):
        sys.stderr.write(line + "\n")


def _forget_stdout() -> None:
    """Nobody reads it: what is left in its buffer must not be complained about at the end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
