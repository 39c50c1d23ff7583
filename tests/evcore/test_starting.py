"""The imports of a starting function: each module delays a waiting UE."""

import subprocess
import sys


def test_a_function_imports_what_it_needs() -> None:
    script = (
        "import sys; from evcore.commands.app import app; app(['function']);"
        "import functions.runtime.serve; print(*sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout
    modules = out.decode().split()
    packages = {name.split(".")[0] for name in modules}
    assert not packages & {"rich", "pydantic", "aiohttp", "loadgen", "gateway", "transport"}
    assert "statestore.foundationdb.engine" not in modules
    assert "functions.gmm.registration.procedure" not in modules, "a procedure, when it is hosted"
    assert "wire" in packages
