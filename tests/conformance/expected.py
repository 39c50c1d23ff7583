"""What the clauses of TS 24.501 and TS 38.413 determine of the table.

One line for each: the clause, the states, the message, the ways that it is sent in, and what must
be so. A new procedure adds its lines to one of the files.
"""

from typing import Final

from tests.conformance.expectation import Expected
from tests.conformance.expected_common import COMMON
from tests.conformance.expected_mobility import MOBILITY
from tests.conformance.expected_ngap import NGAP
from tests.conformance.expected_sessions import SESSIONS

EXPECTED: Final[tuple[Expected, ...]] = (*COMMON, *MOBILITY, *SESSIONS, *NGAP)
