"""The start of every long-running process."""

import subprocess
import sys

CODE = """
import resource
from eventing.process import open_many_files
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (64, most))
open_many_files()
files = [open("/dev/null") for _ in range(100)]
print(resource.getrlimit(resource.RLIMIT_NOFILE) == (most, most))
"""


def test_the_limit_of_open_files_is_the_most_that_is_allowed() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
