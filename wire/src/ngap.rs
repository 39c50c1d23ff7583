//! NGAP (TS 38.413): trees, clause 10 checks, and the gateway's single-call `peek`.

use std::fmt::Write as _;

use oxirush_ngap::identity::Plmn;
use oxirush_ngap::ngap::{
    Cause, GNBID, GlobalRANNodeID, N3IWFID, NGAP_PDU, NGAPPDU, NgENBID, PLMNIdentity, UENGAPIDs,
};
use oxirush_ngap::{Bits, Deviation, ErrorKind, ie};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use pythonize::{depythonize, pythonize};

use crate::canonical::canonical;
use crate::depth::bounded;
use crate::error::{Detail, detailed, error, of_ngap, of_ngap_read};
use crate::nas::{self, NasPeek};

pub fn read(data: &[u8]) -> PyResult<NGAPPDU<'_>> {
    NGAP_PDU::decode_borrowed(data).map_err(|e| of_ngap_read(&e, data))
}

/// The name of a procedure that NGAP does not define.
const UNKNOWN: &str = "unknown";

/// The name of the message: the first part of the PDU's `Display` text.
fn name_of(pdu: &NGAPPDU<'_>) -> String {
    let shown = pdu.to_string();
    match shown.split_once(" (procedure") {
        Some((name, _)) if !name.starts_with("an unknown") => name.to_owned(),
        _ => UNKNOWN.to_owned(),
    }
}

/// The fields of a PDU that a gateway routes by, read in one pass without a tree.
#[pyclass(frozen, get_all, module = "wire")]
pub struct NgapPeek {
    message: String,
    procedure_code: u8,
    direction: &'static str,
    amf_ue_ngap_id: Option<u64>,
    ran_ue_ngap_id: Option<u32>,
    global_ran_node_id: Option<String>,
    s_tmsi: Option<(u16, u8, u32)>,
    nas_pdu: Option<Py<PyBytes>>,
    nas: Option<Py<NasPeek>>,
}

fn node_id(id: &GlobalRANNodeID) -> Option<String> {
    fn write(plmn: PLMNIdentity, kind: &str, bits: Bits) -> Option<String> {
        let plmn = Plmn::try_from(plmn).ok()?;
        let mut out = format!("{}-{}-{kind}-", plmn.mcc(), plmn.mnc());
        write!(out, "{}-{:x}", bits.len(), bits.value()).ok()?;
        Some(out)
    }
    match id {
        GlobalRANNodeID::globalGNB_ID(node) => match &node.gnb_id {
            GNBID::gNB_ID(bits) => write(node.plmn_identity, "gnb", *bits),
            _ => None,
        },
        GlobalRANNodeID::globalNgENB_ID(node) => match &node.ng_enb_id {
            NgENBID::macroNgENB_ID(bits)
            | NgENBID::shortMacroNgENB_ID(bits)
            | NgENBID::longMacroNgENB_ID(bits) => write(node.plmn_identity, "ngenb", *bits),
            _ => None,
        },
        GlobalRANNodeID::globalN3IWF_ID(node) => match &node.n3iwf_id {
            N3IWFID::n3IWF_ID(bits) => write(node.plmn_identity, "n3iwf", *bits),
            _ => None,
        },
        _ => None,
    }
}

#[pyfunction]
pub fn ngap_peek(py: Python<'_>, data: &[u8]) -> PyResult<NgapPeek> {
    peek(py, &read(data)?, data)
}

/// The routing fields of a PDU; `data` is its octets.
pub fn peek(py: Python<'_>, pdu: &NGAPPDU<'_>, data: &[u8]) -> PyResult<NgapPeek> {
    let message = name_of(pdu);
    // If the list of IEs cannot be read, the IEs before the fault are not used for routing. A
    // receiver can only answer the node (clause 10.2).
    if message != UNKNOWN
        && let Err(err) = pdu.protocol_ies()
        && err.kind() == ErrorKind::Decode
    {
        return Err(of_ngap_read(&err, data));
    }
    // An IE that does not decode is omitted here; `ngap_check` reports its fault. A PATH SWITCH
    // REQUEST identifies the UE by the id that the source node uses (9.2.3.8).
    let mut amf = pdu
        .ie::<ie::AMF_UE_NGAP_ID>()
        .or_else(|| pdu.ie::<ie::SourceAMF_UE_NGAP_ID>())
        .and_then(Result::ok)
        .map(|id| id.0);
    let mut ran = pdu
        .ie::<ie::RAN_UE_NGAP_ID>()
        .and_then(Result::ok)
        .map(|id| id.0);
    if amf.is_none() && ran.is_none() {
        match pdu.ie::<ie::UE_NGAP_IDs>().and_then(Result::ok) {
            Some(UENGAPIDs::uE_NGAP_ID_pair(pair)) => {
                amf = Some(pair.amf_ue_ngap_id.0);
                ran = Some(pair.ran_ue_ngap_id.0);
            }
            Some(UENGAPIDs::aMF_UE_NGAP_ID(id)) => amf = Some(id.0),
            _ => {}
        }
    }
    let node = pdu.ie::<ie::GlobalRANNodeID>().and_then(Result::ok);
    let s_tmsi = pdu.ie::<ie::FiveG_S_TMSI>().and_then(Result::ok).map(|id| {
        let set = u16::try_from(id.amf_set_id.0.value()).unwrap_or_default();
        let pointer = u8::try_from(id.amf_pointer.0.value()).unwrap_or_default();
        (set, pointer, u32::from_be_bytes(id.five_g_tmsi.0))
    });
    let (nas_pdu, nas) = match pdu.ie::<ie::NAS_PDU>() {
        Some(Ok(octets)) => {
            let peek = nas::peek(&octets.0).map(|p| Py::new(py, p)).transpose()?;
            (Some(PyBytes::new(py, &octets.0).unbind()), peek)
        }
        _ => (None, None),
    };
    Ok(NgapPeek {
        message,
        procedure_code: pdu.procedure_code(),
        direction: pdu.direction(),
        amf_ue_ngap_id: amf,
        ran_ue_ngap_id: ran,
        global_ran_node_id: node.as_ref().and_then(node_id),
        s_tmsi,
        nas_pdu,
        nas,
    })
}

#[pyfunction]
pub fn ngap_decode(py: Python<'_>, data: &[u8]) -> PyResult<Py<PyDict>> {
    let pdu = read(data)?;
    for deviation in pdu.check().map_err(|e| of_ngap_read(&e, data))? {
        if let Deviation::UndecodableIe { id, .. } = &deviation {
            let detail = Detail {
                ie: Some(id.to_string()),
                ..Detail::default()
            };
            return Err(detailed("ngap-decode", deviation, detail));
        }
    }
    let mut tree = pythonize(py, &pdu)?.cast_into::<PyDict>()?;
    if !is_plain(&tree)? {
        if let Some(pdu) = canonical(&pdu) {
            tree = pythonize(py, &pdu)?.cast_into::<PyDict>()?;
        }
        if !tree.contains("ies")? {
            // The private message has no IEs. Its octets are next to the empty list.
            tree.set_item("ies", PyList::empty(py))?;
        }
    }
    Ok(tree.unbind())
}

/// Whether a tree has its IEs, with a value instead of octets for each.
fn is_plain(tree: &Bound<'_, PyDict>) -> PyResult<bool> {
    let Some(ies) = tree.get_item("ies")? else {
        return Ok(false);
    };
    for entry in ies.cast::<PyList>()? {
        for (_, value) in entry.cast::<PyDict>()? {
            if let Ok(value) = value.cast::<PyDict>()
                && value.len() == 1
                && value.contains("octets")?
            {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// The PDU that a tree describes.
pub fn pdu_of(tree: &Bound<'_, PyAny>) -> PyResult<NGAPPDU<'static>> {
    bounded(tree, "ngap-encode")?;
    let written = without_empty_ies(tree)?;
    depythonize(&written).map_err(|e| error("ngap-encode", e))
}

#[pyfunction]
pub fn ngap_encode<'py>(
    py: Python<'py>,
    tree: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    let octets = pdu_of(tree)?.encode().map_err(|e| of_ngap(&e))?;
    Ok(PyBytes::new(py, &octets))
}

/// A tree of a message that consists only of octets, in the codec's form.
fn without_empty_ies<'py>(tree: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if let Ok(dict) = tree.cast::<PyDict>()
        && dict.contains("octets")?
        && dict
            .get_item("ies")?
            .is_some_and(|ies| ies.is_empty().unwrap_or(false))
    {
        let alone = dict.copy()?;
        alone.del_item("ies")?;
        return Ok(alone.into_any());
    }
    Ok(tree.clone())
}

/// Whether clause 10.3.4.1 or 10.3.5 of TS 38.413 requires the receiver to reject the message for
/// this deviation. Otherwise it continues without the IE.
fn rejects(deviation: &Deviation) -> bool {
    use oxirush_ngap::ngap::CauseProtocol as P;
    matches!(
        deviation.cause(),
        Some(
            P::transfer_syntax_error
                | P::abstract_syntax_error_reject
                | P::abstract_syntax_error_falsely_constructed_message
        )
    )
}

#[pyfunction]
pub fn ngap_check(py: Python<'_>, data: &[u8]) -> PyResult<Option<Py<PyDict>>> {
    let pdu = read(data)?;
    let deviations = pdu.check().map_err(|e| of_ngap_read(&e, data))?;
    faults_of(py, &pdu, deviations)
}

/// The answer to the deviations of a PDU; `None` if none needs an answer.
///
/// If IEs are out of order, `order` has a sentence for each of them, and `in_any_order` the answer
/// of a receiver that accepts any order: `None` if no other deviation needs an answer.
pub fn faults_of(
    py: Python<'_>,
    pdu: &NGAPPDU<'_>,
    deviations: Vec<Deviation>,
) -> PyResult<Option<Py<PyDict>>> {
    let answered: Vec<Deviation> = deviations
        .into_iter()
        .filter(|d| d.cause().is_some())
        .collect();
    let Some(out) = answer_to(py, pdu, &answered)? else {
        return Ok(None);
    };
    let (order, others): (Vec<Deviation>, Vec<Deviation>) = answered
        .into_iter()
        .partition(|d| matches!(d, Deviation::OutOfOrder { .. }));
    if !order.is_empty() {
        out.set_item("order", texts_of(&order))?;
        out.set_item("in_any_order", answer_to(py, pdu, &others)?)?;
    }
    Ok(Some(out.unbind()))
}

fn texts_of(deviations: &[Deviation]) -> Vec<String> {
    deviations.iter().map(ToString::to_string).collect()
}

/// The answer to deviations that each need one; `None` without a deviation.
fn answer_to<'py>(
    py: Python<'py>,
    pdu: &NGAPPDU<'_>,
    answered: &[Deviation],
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some(worst) = answered.iter().find(|d| rejects(d)).or(answered.first()) else {
        return Ok(None);
    };
    let out = PyDict::new(py);
    out.set_item("reject", rejects(worst))?;
    if let Some(cause) = worst.cause() {
        out.set_item("cause", pythonize(py, &Cause::protocol(cause))?)?;
    }
    out.set_item("deviations", texts_of(answered))?;
    let response = pdu.criticality_diagnostics_for_response(answered);
    out.set_item("diagnostics_for_response", pythonize(py, &response)?)?;
    let indication = pdu.criticality_diagnostics(answered);
    out.set_item("diagnostics", pythonize(py, &indication)?)?;
    Ok(Some(out))
}
