"""All tests of tests/transport that need the kernel's SCTP, in a machine with a suitable kernel."""

import os
import re
import sys

import pytest

from tests.kernel import vm
from transport.kernel import why_no_kernel_sctp

_SECONDS = 400
_HERE = why_no_kernel_sctp()


@pytest.mark.slow
@pytest.mark.timeout(_SECONDS + 20)
@pytest.mark.skipif(_HERE is None, reason="this machine's kernel has SCTP: run pytest -m kernel")
async def test_the_kernels_sctp(capfd: pytest.CaptureFixture[str]) -> None:
    reason = vm.why_not()
    if reason is not None:
        pytest.skip(reason)
    paths = [str(vm.site()), str(vm.ROOT), os.environ.get("PYTHONPATH", "")]
    command = [sys.executable, "-m", "pytest", "-m", "kernel", "--color=no", "tests/transport"]
    with capfd.disabled():
        status, console = await vm.run(
            command, _SECONDS, {"PYTHONPATH": ":".join(path for path in paths if path)}
        )
    assert status == 0, console
    passed = re.search(r"(\d+) passed", console)
    assert passed is not None, console
    assert int(passed[1]) > 50
    assert not re.search(r"\d+ (failed|skipped|error)", console), console
