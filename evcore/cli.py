"""The command line: `evcore`. The commands are in `evcore.commands`.

`main` imports them after it has set the handler of SIGINT, so that Ctrl-C never shows a traceback.
"""

import contextlib
import logging
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status. Print an expected error as one sentence."""
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    from evcore.commands import errors  # noqa: PLC0415
    from evcore.commands.app import app  # noqa: PLC0415
    from evcore.commands.running import Interrupted  # noqa: PLC0415
    from evcore.local.private import forbid_core_dumps  # noqa: PLC0415

    forbid_core_dumps()

    words = sys.argv[1:] if arguments is None else arguments
    command_line = app(words)
    signal.signal(signal.SIGINT, before)
    _prepare_streams()
    try:
        status: Any = command_line(words, prog_name="evcore", standalone_mode=False)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as end:
        # typer raises SystemExit for a closed pipe.
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
    """Make every text printable, with any locale and with closed streams."""
    for name in ("stdout", "stderr"):
        stream: Any = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    # Log records of libraries do not go to the terminal. `up` and `demo` write them to a file.
    logging.getLogger().addHandler(logging.NullHandler())


def _say(line: str) -> None:
    with contextlib.suppress(OSError):
        sys.stderr.write(line + "\n")


def _forget_stdout() -> None:
    """Discard the rest of the buffer: flushing it to the closed pipe would fail at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
