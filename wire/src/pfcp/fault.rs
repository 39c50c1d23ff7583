//! What is wrong with the value of an IE, before it is known which IE it is of.

use std::fmt;

use pyo3::PyErr;
use rs_pfcp::error::PfcpError;

/// Why octets are not, or a value cannot be, the value of an IE.
#[derive(Debug)]
pub struct Fault {
    text: String,
    /// Whether the length of the IE is what is wrong (TS 29.244 clause 7.6.7).
    pub length: bool,
}

impl Fault {
    pub fn new(text: impl Into<String>) -> Self {
        Fault {
            text: text.into(),
            length: false,
        }
    }

    /// Of an IE that ends before its value does.
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
