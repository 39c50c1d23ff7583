//! The fault in the value of an IE, before the IE is known.

use std::fmt;

use pyo3::PyErr;
use rs_pfcp::error::PfcpError;

/// Why octets or a value are invalid for an IE.
#[derive(Debug)]
pub struct Fault {
    text: String,
    /// Whether the fault is the length of the IE (TS 29.244 clause 7.6.7).
    pub length: bool,
}

impl Fault {
    pub fn new(text: impl Into<String>) -> Self {
        Fault {
            text: text.into(),
            length: false,
        }
    }

    /// The IE ends before its value does.
    pub fn short() -> Self {
        Fault {
            text: "it is shorter than its value".to_owned(),
            length: true,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<PfcpError> for Fault {
    fn from(err: PfcpError) -> Self {
        let length = matches!(
            err,
            PfcpError::InvalidLength { .. } | PfcpError::ZeroLengthNotAllowed { .. }
        );
        Fault {
            text: err.to_string(),
            length,
        }
    }
}

impl From<PyErr> for Fault {
    fn from(err: PyErr) -> Self {
        Fault::new(err.to_string())
    }
}
