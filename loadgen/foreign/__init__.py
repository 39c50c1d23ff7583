"""Messages as UEs and gNBs of other makers may send them: optional IEs in random combinations.

`nas` and `ngap` add IEs to the messages of loadgen. `nas_table` has the optional IEs of TS 24.501
clause 8 with their conditions; those of TS 38.413 come from its ASN.1 (`asn1`), without the IEs of
`ngap_table`. The added IEs must not change the outcome of any procedure.
"""

from loadgen.foreign.nas import ForeignNas, OwnNas
from loadgen.foreign.ngap import ForeignNgap

__all__ = ["ForeignNas", "ForeignNgap", "OwnNas"]
