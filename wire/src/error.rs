//! The only exception of the crate: `wire.WireError`, with a machine-readable `kind`.

use oxirush_nas::common::NasError;
use oxirush_ngap::ErrorKind;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::locate::place;

pyo3::create_exception!(
    wire,
    WireError,
    PyValueError,
    "Bytes or values that the wire formats refuse; see wire.pyi."
);

/// Every `kind` of a [`WireError`], exported as `wire.ERROR_KINDS`. A test has an example of each.
pub const KINDS: &[&str] = &[
    "ngap-decode",
    "ngap-encode",
    "pfcp-decode",
    "pfcp-encode",
    "nas-decode",
    "nas-encode",
    "nas-integrity",
    "nas-refused",
    "nas-count",
    "security",
    "aka-mac",
    "eap",
    "suci",
    "sctp",
    "sctp-full",
    "sealed",
    "entropy",
];

/// The attributes of a refusal besides its text.
#[derive(Default)]
pub struct Detail {
    /// The faulty IE, by its name in the specification.
    pub ie: Option<String>,
    /// The octet at which decoding stopped, counted from 0.
    pub offset: Option<usize>,
    /// The 5GMM or 5GSM cause of the answer (TS 24.501 clause 7).
    pub cause: Option<u8>,
    /// The NAS COUNT that an authentic but refused message used.
    pub count: Option<u32>,
    /// The deciphered octets of an authentic but refused message.
    pub plain: Option<Vec<u8>>,
}

/// Creates a `WireError` of `kind`, which must be one of [`KINDS`].
pub fn error(kind: &'static str, text: impl std::fmt::Display) -> PyErr {
    detailed(kind, text, Detail::default())
}

/// Creates a `WireError` with its details as attributes.
pub fn detailed(kind: &'static str, text: impl std::fmt::Display, detail: Detail) -> PyErr {
    debug_assert!(KINDS.contains(&kind));
    Python::attach(|py| {
        let err = WireError::new_err(text.to_string());
        let value = err.value(py);
        let set = || -> PyResult<()> {
            value.setattr("kind", kind)?;
            value.setattr("ie", detail.ie)?;
            value.setattr("offset", detail.offset)?;
            value.setattr("cause", detail.cause)?;
            value.setattr("count", detail.count)?;
            let plain = detail
                .plain
                .map(|p| pyo3::types::PyBytes::new(py, &p).unbind());
            value.setattr("plain", plain)
        };
        match set() {
            Ok(()) => err,
            Err(other) => other,
        }
    })
}

/// The error of encoding an NGAP PDU.
pub fn of_ngap(err: &oxirush_ngap::Error) -> PyErr {
    ngap_detail(err, Detail::default())
}

/// The error of decoding an NGAP PDU; `data` is the input.
pub fn of_ngap_read(err: &oxirush_ngap::Error, data: &[u8]) -> PyErr {
    let found = place(data);
    ngap_detail(
        err,
        Detail {
            offset: found.as_ref().map(|at| at.offset),
            ie: found.and_then(|at| at.ie).map(|id| id.to_string()),
            ..Detail::default()
        },
    )
}

fn ngap_detail(err: &oxirush_ngap::Error, detail: Detail) -> PyErr {
    let kind = match err.kind() {
        ErrorKind::Decode | ErrorKind::UndecodableIe | ErrorKind::WrongMessage => "ngap-decode",
        _ => "ngap-encode",
    };
    let ie = err.ie().map(|ie| ie.id.to_string()).or(detail.ie);
    detailed(kind, err, Detail { ie, ..detail })
}

/// The error of a NAS codec or NAS security call; `data` is the input.
pub fn of_nas(err: &NasError, data: &[u8]) -> PyErr {
    nas_detail(err, data, Detail::default())
}

/// The start of the plain message. The codec counts offsets from its first octet.
fn start_of_plain(data: &[u8]) -> usize {
    match data {
        [0x7e, header, _, _, _, _, _, ..] if matches!(header & 0x0f, 1..=4) => 7,
        _ => 0,
    }
}

/// Like [`of_nas`], with the details that the caller already knows.
pub fn nas_detail(err: &NasError, data: &[u8], mut detail: Detail) -> PyErr {
    let kind = match err {
        NasError::IntegrityCheckFailed => "nas-integrity",
        NasError::AuthenticMessageRefused { .. } => "nas-refused",
        NasError::NasCountExhausted => "nas-count",
        NasError::SecurityRefused(_) => "security",
        NasError::EncodingError(_) => "nas-encode",
        _ => "nas-decode",
    };
    let (inner, data) = match err {
        NasError::AuthenticMessageRefused { error, plain } => {
            detail.plain = Some(plain.to_vec());
            // The fault is in the plain message, at the offset where reading stopped.
            (error.as_ref(), &**plain)
        }
        other => (other, data),
    };
    let start = start_of_plain(data);
    match inner {
        NasError::InvalidMandatoryIe { ie, .. } => {
            detail.ie = Some(ie.to_string());
            detail.cause = Some(96);
        }
        NasError::UnknownIeCutShort { iei, octets: cut } => {
            detail.ie = Some(format!("{iei:#04x}"));
            detail.offset = data.len().checked_sub(*cut);
            detail.cause = Some(96);
        }
        NasError::UnknownMessageType(_) => {
            detail.offset = Some(start + 2);
            detail.cause = Some(97);
        }
        NasError::UnknownSessionMessageType { .. } => {
            detail.offset = Some(start + 3);
            detail.cause = Some(97);
        }
        NasError::BufferTooShort | NasError::MessageTooShort => detail.offset = Some(data.len()),
        NasError::UnknownProtocolDiscriminator(_) => detail.offset = Some(start),
        NasError::ReservedSecurityHeaderType(_) => detail.offset = Some(start + 1),
        NasError::DecodingError(_) => detail.cause = Some(111),
        _ => {}
    }
    detailed(kind, err, detail)
}

/// The error of a security call, such as a key of a wrong length.
pub fn of_security(err: oxirush_security::SecurityError) -> PyErr {
    error("security", err)
}
