"""Run one target in this process: ``python -m tests.fuzz.one TARGET FOLDER SECONDS SEED``.

libFuzzer ends the process, with a status other than 0 if it has found a fault.
"""

import sys

import atheris

from tests.fuzz.targets import TARGETS


def main(name: str, folder: str, seconds: str, seed: str) -> None:
    """Fuzz until the time has passed or a fault is found. The input is then in `folder`."""
    options = [
        f"-max_total_time={seconds}",
        f"-seed={seed}",
        f"-artifact_prefix={folder}/found-",
        "-max_len=4096",
        "-timeout=10",
        "-rss_limit_mb=2048",
        "-print_final_stats=1",
    ]
    run = TARGETS[name].run
    atheris.Setup([name, *options, f"{folder}/corpus"], run, enable_python_coverage=False)
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
