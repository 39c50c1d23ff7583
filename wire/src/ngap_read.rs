//! An NGAP PDU that a node has sent: what it is, what is wrong with it, and its IEs by name.

use std::sync::OnceLock;

use oxirush_ngap::identity::Plmn;
use oxirush_ngap::ngap::{
    AMFUENGAPID, FiveGSTMSI, ID_AMF_UE_NGAP_ID, ID_FIVE_G_S_TMSI, ID_NAS_PDU, ID_RAN_UE_NGAP_ID,
    ID_RRCESTABLISHMENT_CAUSE, ID_UECONTEXT_REQUEST, ID_USER_LOCATION_INFORMATION, NASPDU, NGAPPDU,
    PLMNIdentity, RANUENGAPID, RRCEstablishmentCause, UEContextRequest, UserLocationInformation,
    UserLocationInformationNR, decode_open_type,
};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use pythonize::pythonize;

use crate::error::of_ngap_read;
use crate::ngap::{NgapPeek, faults_of, ngap_decode, peek, read};

/// A received PDU, of which each question is answered when it is asked.
#[pyclass(frozen, module = "wire")]
pub struct NgapRead {
    #[pyo3(get)]
    peek: Py<NgapPeek>,
    data: Py<PyBytes>,
    /// Whether the check has found nothing at all, once there was one.
    clean: OnceLock<bool>,
}

#[pyfunction]
pub fn ngap_read(data: Bound<'_, PyBytes>) -> PyResult<NgapRead> {
    let py = data.py();
    let octets = data.as_bytes();
    let found = peek(py, &read(octets)?, octets)?;
    Ok(NgapRead {
        peek: Py::new(py, found)?,
        data: data.unbind(),
        clean: OnceLock::new(),
    })
}

#[pymethods]
impl NgapRead {
    /// What `ngap_check` says.
    fn check(&self, py: Python<'_>) -> PyResult<Option<Py<PyDict>>> {
        let octets = self.data.as_bytes(py);
        let pdu = read(octets)?;
        let deviations = pdu.check().map_err(|e| of_ngap_read(&e, octets))?;
        let _ = self.clean.set(deviations.is_empty());
        faults_of(py, &pdu, deviations)
    }

    /// The IEs by name; of a repeated one, the first.
    fn ies(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let octets = self.data.as_bytes(py);
        if self.clean.get() == Some(&true)
            && let Some(ies) = common_ies(py, &read(octets)?)?
        {
            return Ok(ies.unbind());
        }
        let tree = ngap_decode(py, octets)?.into_bound(py);
        let found = PyDict::new(py);
        if let Some(ies) = tree.get_item("ies")? {
            for entry in ies.cast::<PyList>()? {
                for (name, value) in entry.cast::<PyDict>()? {
                    if !found.contains(&name)? {
                        found.set_item(name, value)?;
                    }
                }
            }
        }
        Ok(found.unbind())
    }
}

/// The IEs of a PDU without fault that has none but those of the messages that come most often;
/// as they are in a tree.
fn common_ies<'py>(py: Python<'py>, pdu: &NGAPPDU<'_>) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Ok(ies) = pdu.protocol_ies() else {
        return Ok(None);
    };
    let found = PyDict::new(py);
    for ie in &ies.0 {
        let value: &[u8] = &ie.value;
        macro_rules! decoded {
            ($kind:ty) => {
                match decode_open_type::<$kind>(value) {
                    Ok(decoded) => decoded,
                    Err(_) => return Ok(None),
                }
            };
        }
        match ie.id {
            ID_AMF_UE_NGAP_ID => {
                found.set_item(intern!(py, "AMF-UE-NGAP-ID"), decoded!(AMFUENGAPID).0)?;
            }
            ID_RAN_UE_NGAP_ID => {
                found.set_item(intern!(py, "RAN-UE-NGAP-ID"), decoded!(RANUENGAPID).0)?;
            }
            ID_NAS_PDU => {
                let octets = PyBytes::new(py, &decoded!(NASPDU<'_>).0);
                let text = octets.call_method0(intern!(py, "hex"))?;
                found.set_item(intern!(py, "NAS-PDU"), text)?;
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
                found.set_item(intern!(py, "UserLocationInformation"), tree)?;
            }
            ID_RRCESTABLISHMENT_CAUSE => {
                let cause = pythonize(py, &decoded!(RRCEstablishmentCause))?;
                found.set_item(intern!(py, "RRCEstablishmentCause"), cause)?;
            }
            ID_UECONTEXT_REQUEST => {
                let asked = pythonize(py, &decoded!(UEContextRequest))?;
                found.set_item(intern!(py, "UEContextRequest"), asked)?;
            }
            ID_FIVE_G_S_TMSI => {
                let identity = pythonize(py, &decoded!(FiveGSTMSI))?;
                found.set_item(intern!(py, "FiveG-S-TMSI"), identity)?;
            }
            _ => return Ok(None),
        }
    }
    Ok(Some(found))
}

/// The tree of an NR location that says where and nothing else; None for another.
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
    let tree = PyDict::new(py);
    tree.set_item(intern!(py, "userLocationInformationNR"), location)?;
    Ok(Some(tree))
}

fn text(plmn: PLMNIdentity) -> Option<String> {
    let plmn = Plmn::try_from(plmn).ok()?;
    Some(format!("{}-{}", plmn.mcc(), plmn.mnc()))
}
