//! 5GS NAS (TS 24.501): trees, the clause 7 answer to a faulty message, and `peek`.

use oxirush_nas::nas_5gs::{
    Direction, MobileIdentityType, Nas5gmmMessage, Nas5gsMessage, NasFGsMobileIdentity, Suci,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pythonize::{depythonize, pythonize};

use crate::depth::bounded;
use crate::error::{error, of_nas};

/// The fields of a NAS message that can be read without a security context.
#[pyclass(frozen, get_all, module = "wire")]
pub struct NasPeek {
    epd: u8,
    security_header: u8,
    sequence_number: Option<u8>,
    message_type: Option<u8>,
    guti: Option<(String, String, u8, u16, u8, u32)>,
    s_tmsi: Option<(u16, u8, u32)>,
    supi: Option<String>,
    suci: Option<Py<PyBytes>>,
    suci_scheme: Option<u8>,
}

/// The mobile identity of an initial NAS message or an identity response, and the name of its IE.
pub fn identity_of(
    message: &mut Nas5gmmMessage,
) -> Option<(&'static str, &mut NasFGsMobileIdentity)> {
    match message {
        Nas5gmmMessage::RegistrationRequest(m) => {
            Some(("5gs-mobile-identity", &mut m.fgs_mobile_identity))
        }
        Nas5gmmMessage::DeregistrationRequestUeOriginating(m) => {
            Some(("5gs-mobile-identity", &mut m.fgs_mobile_identity))
        }
        Nas5gmmMessage::ServiceRequest(m) => Some(("5g-s-tmsi", &mut m.fg_s_tmsi)),
        Nas5gmmMessage::IdentityResponse(m) => Some(("mobile-identity", &mut m.mobile_identity)),
        _ => None,
    }
}

/// `None` if the octets are too short to be a NAS message.
pub fn peek(octets: &[u8]) -> Option<NasPeek> {
    let (&epd, &second) = (octets.first()?, octets.get(1)?);
    let mut found = NasPeek {
        epd,
        security_header: if epd == 0x7e { second & 0x0f } else { 0 },
        sequence_number: None,
        message_type: None,
        guti: None,
        s_tmsi: None,
        supi: None,
        suci: None,
        suci_scheme: None,
    };
    let plain = match (epd, found.security_header) {
        (0x7e, 0) => octets,
        (0x7e, _) => {
            found.sequence_number = octets.get(6).copied();
            // Types 2 and 4 are ciphered (TS 24.501 table 9.3.1), except with NEA0. Only the
            // receiver's context knows the algorithm, so this function does not guess.
            match octets.get(7..) {
                Some(plain) if matches!(found.security_header, 1 | 3) => plain,
                _ => return Some(found),
            }
        }
        (0x2e, _) => {
            found.message_type = octets.get(3).copied();
            return Some(found);
        }
        _ => return Some(found),
    };
    // Clause 4.4 defines no protected message inside a protected message.
    if plain.first() != Some(&0x7e) || plain.get(1).is_none_or(|header| header << 4 != 0) {
        return Some(found);
    }
    found.message_type = plain.get(2).copied();
    // Only the messages that carry an identity are decoded: 0x41, 0x45, 0x4c, 0x5c.
    if !matches!(found.message_type, Some(0x41 | 0x45 | 0x4c | 0x5c)) {
        return Some(found);
    }
    let Ok((Nas5gsMessage::Gmm(_, mut message), _)) = Nas5gsMessage::decode_lenient(plain) else {
        return Some(found);
    };
    if let Some((_, identity)) = identity_of(&mut message) {
        read_identity(identity, &mut found);
    }
    Some(found)
}

fn read_identity(identity: &NasFGsMobileIdentity, found: &mut NasPeek) {
    match identity.identity_type() {
        Some(MobileIdentityType::Guti) => {
            found.guti = identity.as_guti().map(|g| {
                let plmn = g.plmn();
                let (mcc, mnc) = (plmn.mcc().to_owned(), plmn.mnc().to_owned());
                (
                    mcc,
                    mnc,
                    g.amf_region_id(),
                    g.amf_set_id(),
                    g.amf_pointer(),
                    g.tmsi(),
                )
            });
        }
        Some(MobileIdentityType::STmsi) => {
            found.s_tmsi = identity
                .as_s_tmsi()
                .map(|s| (s.amf_set_id(), s.amf_pointer(), s.tmsi()));
        }
        Some(MobileIdentityType::Suci) => {
            found.suci = Some(Python::attach(|py| {
                PyBytes::new(py, &identity.value).unbind()
            }));
            match identity.as_suci() {
                Some(Suci::Imsi(suci)) => {
                    found.suci_scheme = Some(suci.protection_scheme().identifier());
                    found.supi = suci.imsi().map(|imsi| format!("imsi-{}", imsi.as_str()));
                }
                Some(Suci::Nai(suci)) => {
                    found.suci_scheme = Some(suci.protection_scheme().identifier());
                }
                _ => {}
            }
        }
        _ => {}
    }
}

#[pyfunction]
pub fn nas_peek(data: &[u8]) -> PyResult<NasPeek> {
    peek(data).ok_or_else(|| of_nas(&oxirush_nas::common::NasError::MessageTooShort, data))
}

#[pyfunction]
pub fn nas_decode(py: Python<'_>, data: &[u8]) -> PyResult<Py<PyAny>> {
    let message = Nas5gsMessage::decode(data).map_err(|e| of_nas(&e, data))?;
    Ok(pythonize(py, &message)?.unbind())
}

/// The message that a tree describes.
pub fn message_of(tree: &Bound<'_, PyAny>) -> PyResult<Nas5gsMessage> {
    bounded(tree, "nas-encode")?;
    depythonize(tree).map_err(|e| error("nas-encode", e))
}

#[pyfunction]
pub fn nas_encode<'py>(py: Python<'py>, tree: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let octets = message_of(tree)?.encode().map_err(|e| of_nas(&e, &[]))?;
    Ok(PyBytes::new(py, &octets))
}

#[pyfunction]
pub fn nas_answer<'py>(py: Python<'py>, plain: &[u8]) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let received = Nas5gsMessage::decode(plain);
    let Some(answer) = Nas5gsMessage::answer_to(plain, &received, Direction::Uplink) else {
        return Ok(None);
    };
    let octets = answer.encode().map_err(|e| of_nas(&e, plain))?;
    Ok(Some(PyBytes::new(py, &octets)))
}

/// The value of the UE security capability IE of a plain REGISTRATION REQUEST.
#[pyfunction]
pub fn ue_security_capability<'py>(
    py: Python<'py>,
    plain: &[u8],
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let message = Nas5gsMessage::decode(plain).map_err(|e| of_nas(&e, plain))?;
    let Nas5gsMessage::Gmm(_, Nas5gmmMessage::RegistrationRequest(request)) = message else {
        return Ok(None);
    };
    Ok(request
        .ue_security_capability
        .map(|ie| PyBytes::new(py, &ie.value)))
}
