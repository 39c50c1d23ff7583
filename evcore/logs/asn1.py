"""NGAP as ASN.1 text, by pycrate: an implementation that shares nothing with ours.

Importing pycrate takes more than a second, so it is imported when it is asked for.
"""

import re
from typing import Any, Final

from evcore.commands.errors import CommandError
from schemas.redact import HIDDEN

_KEYS: Final = re.compile(r"('[0-9A-Fa-f]{64}'H|0b[01]{256}|'[01]{256}'B)")
"""A bit string of 256 bits: K_gNB or NH, which are not printed."""


def ngap(pdu: bytes) -> str:
    """The text of a PDU, its keys left out.

    Raises:
        CommandError: pycrate is not installed.
    """
    try:
        from pycrate_asn1dir import NGAP  # noqa: PLC0415
    except ImportError:
        raise CommandError("--asn1 needs pycrate: pip install pycrate") from None
    descriptions: Any = NGAP.NGAP_PDU_Descriptions
    message = descriptions.NGAP_PDU
    try:
        message.from_aper(pdu)
    except Exception as err:
        return f"pycrate cannot decode this: {err}\n{pdu.hex()}"
    return _KEYS.sub(HIDDEN, str(message.to_asn1()))
