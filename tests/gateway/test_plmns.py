"""5G-GUTIs of an AMF that serves several PLMNs (TS 23.003 2.10.1)."""

from pathlib import Path

import pytest

import wire
from gateway.n2 import __main__ as process
from gateway.n2.routing import Router
from schemas.config import reading
from schemas.identity import index_tmsi
from schemas.procedures import Procedure

KEY = bytes(range(32))
CIPHER = wire.TmsiCipher(KEY)
OWN, OTHER = "001-01", "310-410"
AREA = '[[tracking_area]]\ntac = 1\nslices = ["1"]\n'
SHARED = f'{AREA}{AREA}plmn = "{OTHER}"\n'


def request(plmn: str, pointer: int = 0) -> wire.NgapPeek:
    """Return an INITIAL UE MESSAGE with a 5G-GUTI of a PLMN."""
    guti = {"plmn": plmn, "amf-region-id": 1, "amf-set-id": 1, "amf-pointer": pointer, "tmsi": 77}
    nas = {
        "message-type": "registration-request",
        "5gs-registration-type": {
            "registration-type": "initial-registration",
            "follow-on-request": False,
        },
        "ngksi": "no-key",
        "5gs-mobile-identity": {"guti": guti},
    }
    tai = {"pLMNIdentity": plmn, "tAC": 1}
    nr = {"nR-CGI": {"pLMNIdentity": plmn, "nRCellIdentity": 1}, "tAI": tai}
    ies = [
        {"RAN-UE-NGAP-ID": 1},
        {"NAS-PDU": wire.nas_encode(nas).hex()},
        {"UserLocationInformation": {"userLocationInformationNR": nr}},
        {"RRCEstablishmentCause": "mo-Signalling"},
    ]
    return wire.ngap_peek(wire.ngap_encode({"message": "InitialUEMessage", "ies": ies}))


def leads_to_its_ue(router: Router, plmn: str, pointer: int = 0) -> bool:
    return router.initial(request(plmn, pointer), "c").partitionkey == index_tmsi(77)


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    path = tmp_path / "evcore.toml"
    path.write_text(SHARED)
    return path


def test_5g_gutis_of_each_served_plmn(shared: Path) -> None:
    router = Router(reading.network_of(reading.load(shared), KEY).guamis, CIPHER)
    assert leads_to_its_ue(router, OWN)
    assert leads_to_its_ue(router, OTHER)
    assert not leads_to_its_ue(router, "262-01")
    assert not leads_to_its_ue(router, OTHER, pointer=1)
    assert router.initial(request(OTHER), "c").procedure is Procedure.REGISTRATION


def test_sighup_reads_the_plmns_again(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The gateway of a running core learns of a PLMN by `evcore network update`."""
    router = Router(reading.network_of(reading.Config(), KEY).guamis, CIPHER)
    assert not leads_to_its_ue(router, OTHER)
    process.serve_plmns_of(router, shared, KEY)
    assert leads_to_its_ue(router, OTHER)
    shared.write_text("wrong")
    process.serve_plmns_of(router, shared, KEY)
    assert leads_to_its_ue(router, OTHER)
    assert "the PLMNs stay as they are" in capsys.readouterr().err
