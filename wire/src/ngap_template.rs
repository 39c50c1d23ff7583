//! NGAP messages with few variable values, encoded again for each UE without a tree.

use oxirush_ngap::ngap::{
    AMFUENGAPID, GTPTEID, ID_AMF_UE_NGAP_ID, ID_MASKED_IMEISV, ID_NAS_PDU,
    ID_PDUSESSION_RESOURCE_SETUP_LIST_CXT_REQ, ID_PDUSESSION_RESOURCE_SETUP_LIST_SUREQ,
    ID_RAN_UE_NGAP_ID, ID_SECURITY_KEY, ID_UE_NGAP_IDS, ID_UERADIO_CAPABILITY,
    ID_UL_NGU_UP_TNLINFORMATION, MaskedIMEISV, NASPDU, NGAPPDU, PDUSessionID,
    PDUSessionResourceSetupListCxtReq, PDUSessionResourceSetupListSUReq,
    PDUSessionResourceSetupRequestTransfer, ProtocolIEContainer, ProtocolIEID, RANUENGAPID,
    SecurityKey, UENGAPIDPair, UENGAPIDs, UERadioCapability, UPTransportLayerInformation,
    decode_open_type, encode_open_type,
};
use oxirush_ngap::{BitString, Bits, Error, Octets};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{error, of_ngap};
use crate::ngap::pdu_of;

/// A PDU of a tree, with IEs that are replaced for each UE.
#[pyclass(frozen, module = "wire")]
pub struct NgapTemplate {
    pdu: NGAPPDU<'static>,
}

/// PDU session identity, NAS message and TEID of a PDU session to set up.
type Session = (u8, Vec<u8>, u32);

#[pymethods]
impl NgapTemplate {
    #[new]
    fn new(tree: &Bound<'_, PyAny>) -> PyResult<Self> {
        let pdu = pdu_of(tree)?;
        pdu.encode().map_err(|e| of_ngap(&e))?;
        Ok(Self { pdu })
    }

    #[pyo3(signature = (
        amf_ue_ngap_id, ran_ue_ngap_id, *, nas_pdu = None, security_key = None,
        masked_imeisv = None, radio_capability = None, sessions = None
    ))]
    #[allow(clippy::too_many_arguments)]
    fn encode<'py>(
        &self,
        py: Python<'py>,
        amf_ue_ngap_id: u64,
        ran_ue_ngap_id: u32,
        nas_pdu: Option<&[u8]>,
        security_key: Option<&[u8]>,
        masked_imeisv: Option<&[u8]>,
        radio_capability: Option<&[u8]>,
        sessions: Option<Vec<Session>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let mut ies = self.pdu.protocol_ies().map_err(|e| of_ngap(&e))?;
        let (amf, ran) = (AMFUENGAPID(amf_ue_ngap_id), RANUENGAPID(ran_ue_ngap_id));
        if has(&ies, ID_UE_NGAP_IDS) {
            let pair = UENGAPIDs::uE_NGAP_ID_pair(UENGAPIDPair::new(amf, ran, None));
            put(
                &mut ies,
                ID_UE_NGAP_IDS,
                "UE-NGAP-IDs",
                encode_open_type(&pair),
            )?;
        } else {
            put(
                &mut ies,
                ID_AMF_UE_NGAP_ID,
                "AMF-UE-NGAP-ID",
                encode_open_type(&amf),
            )?;
            put(
                &mut ies,
                ID_RAN_UE_NGAP_ID,
                "RAN-UE-NGAP-ID",
                encode_open_type(&ran),
            )?;
        }
        if let Some(octets) = nas_pdu {
            let value = NASPDU(Octets::borrowed(octets));
            put(&mut ies, ID_NAS_PDU, "NAS-PDU", encode_open_type(&value))?;
        }
        if let Some(octets) = security_key {
            let value = SecurityKey(BitString::from_octets(octets));
            put(
                &mut ies,
                ID_SECURITY_KEY,
                "SecurityKey",
                encode_open_type(&value),
            )?;
        }
        if let Some(octets) = masked_imeisv {
            let value = Bits::from_octets(octets, 64)
                .and_then(|bits| encode_open_type(&MaskedIMEISV(bits)));
            put(&mut ies, ID_MASKED_IMEISV, "MaskedIMEISV", value)?;
        }
        if let Some(octets) = radio_capability {
            let value = UERadioCapability(Octets::borrowed(octets));
            put(
                &mut ies,
                ID_UERADIO_CAPABILITY,
                "UERadioCapability",
                encode_open_type(&value),
            )?;
        }
        if let Some(sessions) = sessions {
            put_sessions(&mut ies, sessions)?;
        }
        let mut pdu = self.pdu.clone();
        pdu.set_protocol_ies(ies).map_err(|e| of_ngap(&e))?;
        let octets = pdu.encode().map_err(|e| of_ngap(&e))?;
        Ok(PyBytes::new(py, &octets))
    }
}

fn has(ies: &ProtocolIEContainer<'_>, id: ProtocolIEID) -> bool {
    ies.0.iter().any(|ie| ie.id == id)
}

/// Replace the value of an IE, which the template must have.
fn put(
    ies: &mut ProtocolIEContainer<'_>,
    id: ProtocolIEID,
    name: &str,
    value: Result<Octets<'static>, Error>,
) -> PyResult<()> {
    let Some(ie) = ies.0.iter_mut().find(|ie| ie.id == id) else {
        return Err(without(name));
    };
    ie.value = value.map_err(|e| of_ngap(&e))?;
    Ok(())
}

fn without(name: &str) -> PyErr {
    error("ngap-encode", format!("the template has no {name}"))
}

/// Replace the sessions of either list of them, which the template must have.
fn put_sessions(ies: &mut ProtocolIEContainer<'_>, sessions: Vec<Session>) -> PyResult<()> {
    for ie in &mut ies.0 {
        let value = if ie.id == ID_PDUSESSION_RESOURCE_SETUP_LIST_CXT_REQ {
            let mut list: PDUSessionResourceSetupListCxtReq<'_> = read(&ie.value)?;
            as_many(list.0.len(), sessions.len())?;
            for (item, (psi, nas, teid)) in list.0.iter_mut().zip(sessions) {
                item.pdu_session_id = PDUSessionID(psi);
                item.nas_pdu = (!nas.is_empty()).then(|| NASPDU(Octets::owned(nas)));
                let transfer = &mut item.pdu_session_resource_setup_request_transfer;
                *transfer = with_teid(transfer, teid)?;
            }
            encode_open_type(&list)
        } else if ie.id == ID_PDUSESSION_RESOURCE_SETUP_LIST_SUREQ {
            let mut list: PDUSessionResourceSetupListSUReq<'_> = read(&ie.value)?;
            as_many(list.0.len(), sessions.len())?;
            for (item, (psi, nas, teid)) in list.0.iter_mut().zip(sessions) {
                item.pdu_session_id = PDUSessionID(psi);
                item.pdu_session_nas_pdu = (!nas.is_empty()).then(|| NASPDU(Octets::owned(nas)));
                let transfer = &mut item.pdu_session_resource_setup_request_transfer;
                *transfer = with_teid(transfer, teid)?;
            }
            encode_open_type(&list)
        } else {
            continue;
        };
        ie.value = value.map_err(|e| of_ngap(&e))?;
        return Ok(());
    }
    Err(without("list of PDU sessions to set up"))
}

fn as_many(own: usize, given: usize) -> PyResult<()> {
    if own == given {
        return Ok(());
    }
    let text = format!("the template has {own} PDU sessions, and not {given}");
    Err(error("ngap-encode", text))
}

/// The transfer with another TEID in its UL NG-U UP TNL Information.
fn with_teid(transfer: &[u8], teid: u32) -> PyResult<Octets<'static>> {
    let mut transfer: PDUSessionResourceSetupRequestTransfer<'_> = read(transfer)?;
    let mut ies = transfer.protocol_ies.0.iter_mut();
    let Some(ie) = ies.find(|ie| ie.id == ID_UL_NGU_UP_TNLINFORMATION) else {
        return Err(without("UL NG-U UP TNL Information"));
    };
    let UPTransportLayerInformation::gTPTunnel(mut tunnel) = read(&ie.value)? else {
        return Err(without("GTP tunnel"));
    };
    tunnel.gtp_teid = GTPTEID(teid.to_be_bytes());
    let tunnel = UPTransportLayerInformation::gTPTunnel(tunnel).into_owned();
    ie.value = encode_open_type(&tunnel).map_err(|e| of_ngap(&e))?;
    encode_open_type(&transfer).map_err(|e| of_ngap(&e))
}

fn read<'a, T: oxirush_ngap::aper::Decode<'a>>(octets: &'a [u8]) -> PyResult<T> {
    decode_open_type(octets).map_err(|e| of_ngap(&e))
}
