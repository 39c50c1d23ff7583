//! The 5G-TMSI as a format-preserving encryption of the UE's slot (FF1, NIST SP 800-38G).

use aes::Aes256;
use fpe::ff1::{BinaryNumeralString, FF1};
use pyo3::prelude::*;

use crate::error::error;

/// Encrypts 32-bit values under one key, so that the slot in a 5G-TMSI is not visible outside.
#[pyclass(frozen, module = "wire")]
pub struct TmsiCipher(FF1<Aes256>);

/// FF1 numbers bits from the least significant one of the first octet.
fn through(
    value: u32,
    run: impl FnOnce(BinaryNumeralString) -> Option<BinaryNumeralString>,
) -> u32 {
    let input = BinaryNumeralString::from_bytes_le(&value.to_le_bytes());
    // FF1 allows 32 bits for radix 2, so the cipher cannot refuse them.
    let output = run(input).map(|out| out.to_bytes_le()).unwrap_or_default();
    output.try_into().map_or(0, u32::from_le_bytes)
}

#[pymethods]
impl TmsiCipher {
    #[new]
    fn new(key: &[u8]) -> PyResult<Self> {
        if key.len() != 32 {
            return Err(error(
                "security",
                format!("a TMSI key has 32 octets, not {}", key.len()),
            ));
        }
        FF1::<Aes256>::new(key, 2)
            .map(Self)
            .map_err(|e| error("security", format!("{e:?}")))
    }

    fn encrypt(&self, value: u32) -> u32 {
        through(value, |input| self.0.encrypt(&[], &input).ok())
    }

    fn decrypt(&self, tmsi: u32) -> u32 {
        through(tmsi, |input| self.0.decrypt(&[], &input).ok())
    }
}
