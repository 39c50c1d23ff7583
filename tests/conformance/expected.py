"""The outcomes that TS 24.501 and TS 38.413 specify.

A line has the clause, the states, the message, the ways to send the message, and the outcome. Add
the lines of a new procedure to one of the files.
"""

from typing import Final

from tests.conformance.expectation import Expected
from tests.conformance.expected_common import COMMON
from tests.conformance.expected_mobility import MOBILITY
from tests.conformance.expected_ngap import NGAP
from tests.conformance.expected_sessions import SESSIONS

EXPECTED: Final[tuple[Expected, ...]] = (*COMMON, *MOBILITY, *SESSIONS, *NGAP)
