//! Encryption at rest: AES-256-GCM with the caller's 96-bit nonce in front of the ciphertext.

use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::{Aes256Gcm, Nonce};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::error;

const NONCE: usize = 12;

/// One data key for sealing and opening.
#[pyclass(frozen, module = "wire")]
pub struct Sealer(Aes256Gcm);

#[pymethods]
impl Sealer {
    #[new]
    fn new(key: &[u8]) -> PyResult<Self> {
        Aes256Gcm::new_from_slice(key).map(Self).map_err(|_| {
            error(
                "security",
                format!("a data key has 32 octets, not {}", key.len()),
            )
        })
    }

    fn seal<'py>(
        &self,
        py: Python<'py>,
        nonce: &[u8],
        plain: &[u8],
        context: &[u8],
    ) -> PyResult<Bound<'py, PyBytes>> {
        let octets: [u8; NONCE] = nonce
            .try_into()
            .map_err(|_| error("security", "a nonce has 12 octets"))?;
        let sealed = self
            .0
            .encrypt(
                &Nonce::from(octets),
                Payload {
                    msg: plain,
                    aad: context,
                },
            )
            .map_err(|_| error("security", "the value is too long to seal"))?;
        PyBytes::new_with(py, NONCE + sealed.len(), |out| {
            out[..NONCE].copy_from_slice(nonce);
            out[NONCE..].copy_from_slice(&sealed);
            Ok(())
        })
    }

    fn open<'py>(
        &self,
        py: Python<'py>,
        sealed: &[u8],
        context: &[u8],
    ) -> PyResult<Bound<'py, PyBytes>> {
        let refuse = || error("sealed", "not sealed with this key, or changed since");
        let (nonce, body) = sealed.split_at_checked(NONCE).ok_or_else(refuse)?;
        let octets: [u8; NONCE] = nonce.try_into().map_err(|_| refuse())?;
        let plain = self
            .0
            .decrypt(
                &Nonce::from(octets),
                Payload {
                    msg: body,
                    aad: context,
                },
            )
            .map_err(|_| refuse())?;
        Ok(PyBytes::new(py, &plain))
    }
}
