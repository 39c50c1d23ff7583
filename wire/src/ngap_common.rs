//! The IEs of the most frequent messages in the form of a tree, converted without the codec's tree.

use oxirush_ngap::identity::Plmn;
use oxirush_ngap::ngap::{
    AMFUENGAPID, AssociatedQosFlowItem, Cause, FiveGSTMSI, GTPTunnel, ID_AMF_UE_NGAP_ID, ID_CAUSE,
    ID_FIVE_G_S_TMSI, ID_NAS_PDU, ID_PDUSESSION_RESOURCE_LIST_CXT_REL_CPL,
    ID_PDUSESSION_RESOURCE_LIST_CXT_REL_REQ, ID_PDUSESSION_RESOURCE_SETUP_LIST_CXT_RES,
    ID_PDUSESSION_RESOURCE_SETUP_LIST_SURES, ID_RAN_UE_NGAP_ID, ID_RRCESTABLISHMENT_CAUSE,
    ID_UECONTEXT_REQUEST, ID_USER_LOCATION_INFORMATION, NASPDU, NGAPPDU,
    PDUSessionResourceListCxtRelCpl, PDUSessionResourceListCxtRelReq,
    PDUSessionResourceSetupListCxtRes, PDUSessionResourceSetupListSURes,
    PDUSessionResourceSetupResponseTransfer, PLMNIdentity, ProtocolIEID, RANUENGAPID,
    RRCEstablishmentCause, UEContextRequest, UPTransportLayerInformation, UserLocationInformation,
    UserLocationInformationNR, decode_open_type, encode_open_type,
};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBytes, PyDict, PyList, PyString};
use pythonize::pythonize;

/// The IEs of a PDU without fault, in the form of a tree. None if the PDU has other IEs than those
/// of the most frequent messages.
pub fn common_ies<'py>(py: Python<'py>, pdu: &NGAPPDU<'_>) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Ok(ies) = pdu.protocol_ies() else {
        return Ok(None);
    };
    let found = PyDict::new(py);
    for ie in &ies.0 {
        let Some((name, value)) = common_ie(py, ie.id, &ie.value)? else {
            return Ok(None);
        };
        found.set_item(name, value)?;
    }
    Ok(Some(found))
}

type Named<'py> = (&'py Bound<'py, PyString>, Bound<'py, PyAny>);

/// The name and the tree of an IE; None for an IE that this function does not convert.
fn common_ie<'py>(py: Python<'py>, id: ProtocolIEID, value: &[u8]) -> PyResult<Option<Named<'py>>> {
    macro_rules! decoded {
        ($kind:ty) => {
            match decode_open_type::<$kind>(value) {
                Ok(decoded) => decoded,
                Err(_) => return Ok(None),
            }
        };
    }
    let (name, tree) = match id {
        ID_AMF_UE_NGAP_ID => {
            let id = decoded!(AMFUENGAPID).0.into_pyobject(py)?;
            (intern!(py, "AMF-UE-NGAP-ID"), id.into_any())
        }
        ID_RAN_UE_NGAP_ID => {
            let id = decoded!(RANUENGAPID).0.into_pyobject(py)?;
            (intern!(py, "RAN-UE-NGAP-ID"), id.into_any())
        }
        ID_NAS_PDU => {
            let octets = PyBytes::new(py, &decoded!(NASPDU<'_>).0);
            let text = octets.call_method0(intern!(py, "hex"))?;
            (intern!(py, "NAS-PDU"), text)
        }
        ID_USER_LOCATION_INFORMATION => {
            let location = decoded!(UserLocationInformation<'_>);
            let tree = match &location {
                UserLocationInformation::userLocationInformationNR(nr) => nr_location(py, nr)?,
                _ => None,
            };
            let tree = match tree {
                Some(tree) => tree.into_any(),
                None => pythonize(py, &location)?,
            };
            (intern!(py, "UserLocationInformation"), tree)
        }
        ID_RRCESTABLISHMENT_CAUSE => {
            let cause = pythonize(py, &decoded!(RRCEstablishmentCause))?;
            (intern!(py, "RRCEstablishmentCause"), cause)
        }
        ID_UECONTEXT_REQUEST => {
            let asked = pythonize(py, &decoded!(UEContextRequest))?;
            (intern!(py, "UEContextRequest"), asked)
        }
        ID_CAUSE => {
            let cause = decoded!(Cause);
            if matches!(cause, Cause::choice_Extensions(_)) {
                return Ok(None);
            }
            (intern!(py, "Cause"), pythonize(py, &cause)?)
        }
        ID_FIVE_G_S_TMSI => {
            let identity = pythonize(py, &decoded!(FiveGSTMSI))?;
            (intern!(py, "FiveG-S-TMSI"), identity)
        }
        _ => return sessions(py, id, value),
    };
    Ok(Some((name, tree)))
}

/// Like `common_ie`, for a list of PDU sessions, each with its transfer if present.
fn sessions<'py>(py: Python<'py>, id: ProtocolIEID, value: &[u8]) -> PyResult<Option<Named<'py>>> {
    let list = PyList::empty(py);
    macro_rules! listed {
        ($name:literal, $kind:ty $(, $transfer:ident)?) => {{
            let Ok(items) = decode_open_type::<$kind>(value) else {
                return Ok(None);
            };
            for item in items.0 {
                if item.ie_extensions.is_some() {
                    return Ok(None);
                }
                let tree = PyDict::new(py);
                tree.set_item(intern!(py, "pDUSessionID"), item.pdu_session_id.0)?;
                $(
                    let Some(transfer) = setup_response(py, &item.$transfer)? else {
                        return Ok(None);
                    };
                    let name = intern!(py, "pDUSessionResourceSetupResponseTransfer");
                    tree.set_item(name, transfer)?;
                )?
                list.append(tree)?;
            }
            intern!(py, $name)
        }};
    }
    let name = match id {
        ID_PDUSESSION_RESOURCE_LIST_CXT_REL_REQ => listed!(
            "PDUSessionResourceListCxtRelReq",
            PDUSessionResourceListCxtRelReq
        ),
        ID_PDUSESSION_RESOURCE_LIST_CXT_REL_CPL => listed!(
            "PDUSessionResourceListCxtRelCpl",
            PDUSessionResourceListCxtRelCpl
        ),
        ID_PDUSESSION_RESOURCE_SETUP_LIST_CXT_RES => listed!(
            "PDUSessionResourceSetupListCxtRes",
            PDUSessionResourceSetupListCxtRes<'_>,
            pdu_session_resource_setup_response_transfer
        ),
        ID_PDUSESSION_RESOURCE_SETUP_LIST_SURES => listed!(
            "PDUSessionResourceSetupListSURes",
            PDUSessionResourceSetupListSURes<'_>,
            pdu_session_resource_setup_response_transfer
        ),
        _ => return Ok(None),
    };
    Ok(Some((name, list.into_any())))
}

/// The tree of an NR location without optional parts; None for any other.
fn nr_location<'py>(
    py: Python<'py>,
    nr: &UserLocationInformationNR,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let (cgi, tai) = (&nr.nr_cgi, &nr.tai);
    let more = nr.time_stamp.is_some() || nr.ie_extensions.is_some();
    if more || cgi.ie_extensions.is_some() || tai.ie_extensions.is_some() {
        return Ok(None);
    }
    let (Some(cell_plmn), Some(area_plmn)) = (text(cgi.plmn_identity), text(tai.plmn_identity))
    else {
        return Ok(None);
    };
    let [high, middle, low] = tai.tac.0;
    let plmn = intern!(py, "pLMNIdentity");
    let cell = PyDict::new(py);
    cell.set_item(plmn, cell_plmn)?;
    cell.set_item(
        intern!(py, "nRCellIdentity"),
        cgi.nr_cell_identity.0.value(),
    )?;
    let area = PyDict::new(py);
    area.set_item(plmn, area_plmn)?;
    area.set_item(
        intern!(py, "tAC"),
        u32::from_be_bytes([0, high, middle, low]),
    )?;
    let location = PyDict::new(py);
    location.set_item(intern!(py, "nR-CGI"), cell)?;
    location.set_item(intern!(py, "tAI"), area)?;
    let tree = [(intern!(py, "userLocationInformationNR"), location)];
    tree.into_py_dict(py).map(Some)
}

fn text(plmn: PLMNIdentity) -> Option<String> {
    let plmn = Plmn::try_from(plmn).ok()?;
    Some(format!("{}-{}", plmn.mcc(), plmn.mnc()))
}

/// The tree of a transfer with one tunnel for all its flows and no optional parts; None for any
/// other.
fn setup_response<'py>(py: Python<'py>, octets: &[u8]) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Ok(transfer) = decode_open_type::<PDUSessionResourceSetupResponseTransfer<'_>>(octets)
    else {
        return Ok(None);
    };
    // If the transfer is not in the form of X.691, a tree holds its octets.
    if !encode_open_type(&transfer).is_ok_and(|again| again[..] == *octets) {
        return Ok(None);
    }
    let flows = &transfer.dl_qos_flow_per_tnl_information;
    let more = transfer
        .additional_dl_qos_flow_per_tnl_information
        .is_some()
        || transfer.security_result.is_some()
        || transfer.qos_flow_failed_to_setup_list.is_some()
        || transfer.ie_extensions.is_some()
        || flows.ie_extensions.is_some();
    let UPTransportLayerInformation::gTPTunnel(tunnel) = &flows.up_transport_layer_information
    else {
        return Ok(None);
    };
    let items = &flows.associated_qos_flow_list.0;
    if more || tunnel.ie_extensions.is_some() || !items.iter().all(is_plain_flow) {
        return Ok(None);
    }
    let list = PyList::empty(py);
    for item in items {
        let flow = [(intern!(py, "qosFlowIdentifier"), item.qos_flow_identifier.0)];
        list.append(flow.into_py_dict(py)?)?;
    }
    let end = [(intern!(py, "gTPTunnel"), tunnel_end(py, tunnel)?)].into_py_dict(py)?;
    let information = PyDict::new(py);
    information.set_item(intern!(py, "uPTransportLayerInformation"), end)?;
    information.set_item(intern!(py, "associatedQosFlowList"), list)?;
    let tree = [(intern!(py, "dLQosFlowPerTNLInformation"), information)];
    tree.into_py_dict(py).map(Some)
}

fn is_plain_flow(item: &AssociatedQosFlowItem) -> bool {
    item.qos_flow_mapping_indication.is_none() && item.ie_extensions.is_none()
}

fn tunnel_end<'py>(py: Python<'py>, tunnel: &GTPTunnel<'_>) -> PyResult<Bound<'py, PyDict>> {
    let tree = PyDict::new(py);
    let address = pythonize(py, &tunnel.transport_layer_address)?;
    tree.set_item(intern!(py, "transportLayerAddress"), address)?;
    let teid = u32::from_be_bytes(tunnel.gtp_teid.0);
    tree.set_item(intern!(py, "gTP-TEID"), teid)?;
    Ok(tree)
}
