//! A plain uplink NAS message, read once for several questions.

use oxirush_nas::nas_5gs::{
    Direction, Nas5gmmMessage, Nas5gsMessage, NasFGsMobileIdentity, NasPayloadContainer,
    PayloadContainerKind,
};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBytes, PyDict};
use pythonize::pythonize;

use crate::error::of_nas;
use crate::nas::identity_of;

/// The contents of a message.
#[pyclass(frozen, get_all, module = "wire")]
pub struct NasRead {
    tree: Option<Py<PyAny>>,
    container: Option<Py<PyBytes>>,
    fault: String,
    answer: Option<Py<PyBytes>>,
}

#[pyfunction]
pub fn nas_read(py: Python<'_>, plain: &[u8]) -> PyResult<NasRead> {
    let received = Nas5gsMessage::decode(plain);
    let answer = match Nas5gsMessage::answer_to(plain, &received, Direction::Uplink) {
        Some(answer) => Some(answer.encode().map_err(|e| of_nas(&e, plain))?),
        None => None,
    };
    let mut read = NasRead {
        tree: None,
        container: None,
        fault: String::new(),
        answer: answer.map(|octets| PyBytes::new(py, &octets).unbind()),
    };
    match received {
        Ok(mut message) => {
            let taken = take_container(&mut message);
            leave_out(&mut message);
            let identity = take_identity(py, &mut message)?;
            let tree = pythonize(py, &message)?.cast_into::<PyDict>()?;
            if taken.is_some() && tree.contains(PAYLOAD_CONTAINER)? {
                tree.del_item(PAYLOAD_CONTAINER)?;
            }
            if let Some((name, identity)) = identity {
                tree.set_item(name, identity)?;
            }
            read.container = taken.map(|octets| PyBytes::new(py, &octets).unbind());
            read.tree = Some(tree.into_any().unbind());
        }
        Err(e) => read.fault = of_nas(&e, plain).value(py).to_string(),
    }
    Ok(read)
}

/// Take the container of a SECURITY MODE COMPLETE, or of N1 SM information in an UL NAS TRANSPORT.
/// A tree would hold it decoded.
fn take_container(message: &mut Nas5gsMessage) -> Option<Vec<u8>> {
    match message {
        Nas5gsMessage::Gmm(_, Nas5gmmMessage::SecurityModeComplete(complete)) => complete
            .nas_message_container
            .take()
            .map(|ie| ie.value.to_vec()),
        Nas5gsMessage::Gmm(_, Nas5gmmMessage::UlNasTransport(transport))
            if transport.payload_container_type.kind()
                == Some(PayloadContainerKind::N1SmInformation) =>
        {
            let empty = NasPayloadContainer::new(Vec::new());
            let taken = std::mem::replace(&mut transport.payload_container, empty);
            Some(taken.value.to_vec())
        }
        _ => None,
    }
}

/// The mandatory IE of an UL NAS TRANSPORT that is empty after its octets are taken.
const PAYLOAD_CONTAINER: &str = "payload-container";

/// Drop the capabilities of a REGISTRATION REQUEST: some ninety flags without a reader, which take
/// most of the time of its tree.
fn leave_out(message: &mut Nas5gsMessage) {
    if let Nas5gsMessage::Gmm(_, Nas5gmmMessage::RegistrationRequest(request)) = message {
        request.fgmm_capability = None;
        request.ue_security_capability = None;
    }
}

type Identity<'py> = (&'static str, Bound<'py, PyDict>);

/// Take the 5G-GUTI or the 5G-S-TMSI of a UE out of the message. Return its tree in the codec's
/// form, and the name of its IE.
fn take_identity<'py>(
    py: Python<'py>,
    message: &mut Nas5gsMessage,
) -> PyResult<Option<Identity<'py>>> {
    let Nas5gsMessage::Gmm(_, message) = message else {
        return Ok(None);
    };
    let Some((name, identity)) = identity_of(message) else {
        return Ok(None);
    };
    let Some(tree) = temporary(py, identity)? else {
        return Ok(None);
    };
    *identity = NasFGsMobileIdentity::from_no_identity();
    Ok(Some((name, tree)))
}

/// The tree of a temporary identity. None for another identity, and for one with bits that the tree
/// cannot represent.
fn temporary<'py>(
    py: Python<'py>,
    identity: &NasFGsMobileIdentity,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let value = PyDict::new(py);
    let (kind, set, pointer, tmsi) = if let Some(guti) = identity.as_guti() {
        if NasFGsMobileIdentity::from_guti(guti).value != identity.value {
            return Ok(None);
        }
        let plmn = guti.plmn();
        value.set_item(
            intern!(py, "plmn"),
            format!("{}-{}", plmn.mcc(), plmn.mnc()),
        )?;
        value.set_item(intern!(py, "amf-region-id"), guti.amf_region_id())?;
        let kind = intern!(py, "guti");
        (kind, guti.amf_set_id(), guti.amf_pointer(), guti.tmsi())
    } else if let Some(s_tmsi) = identity.as_s_tmsi() {
        if NasFGsMobileIdentity::from_s_tmsi(s_tmsi).value != identity.value {
            return Ok(None);
        }
        let kind = intern!(py, "s-tmsi");
        let (set, pointer) = (s_tmsi.amf_set_id(), s_tmsi.amf_pointer());
        (kind, set, pointer, s_tmsi.tmsi())
    } else {
        return Ok(None);
    };
    value.set_item(intern!(py, "amf-set-id"), set)?;
    value.set_item(intern!(py, "amf-pointer"), pointer)?;
    value.set_item(intern!(py, "tmsi"), tmsi)?;
    [(kind, value)].into_py_dict(py).map(Some)
}
