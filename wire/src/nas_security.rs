//! NAS security (TS 33.501 6.4, TS 24.501 4.4): one context object with explicit COUNTs.

use oxirush_nas::common::NasError;
use oxirush_nas::nas_5gs::{
    CipheringAlgorithm, Direction, IntegrityAlgorithm, KAmf, Nas5gsMessage,
    Nas5gsSecurityHeaderType, NasConnection, NasCount, NasSecurityContext,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{Detail, error, nas_detail, of_nas, of_security};

/// The number of NAS COUNTs of 24 bits.
const COUNTS: u32 = 1 << 24;

/// A verified NAS message.
#[pyclass(frozen, get_all, module = "wire")]
pub struct NasVerified {
    plain: Py<PyBytes>,
    security_header: u8,
    count: u32,
    outer: Option<Py<PyBytes>>,
}

/// The NAS keys, the algorithms and the next NAS COUNT of each direction on 3GPP access.
#[pyclass(module = "wire")]
pub struct NasSecurity(NasSecurityContext);

fn direction(downlink: bool) -> Direction {
    if downlink {
        Direction::Downlink
    } else {
        Direction::Uplink
    }
}

fn count(value: u32) -> PyResult<NasCount> {
    NasCount::new(value).map_err(of_security)
}

#[pymethods]
impl NasSecurity {
    #[new]
    #[pyo3(signature = (kamf, nia, nea, uplink=0, downlink=0))]
    fn new(kamf: &[u8], nia: u8, nea: u8, uplink: u32, downlink: u32) -> PyResult<Self> {
        let kamf = KAmf::from_slice(kamf).map_err(of_security)?;
        let refused = || {
            error(
                "security",
                format!("NIA{nia} with NEA{nea}: reserved algorithm"),
            )
        };
        let nia = IntegrityAlgorithm::from_u8(nia).ok_or_else(refused)?;
        let nea = CipheringAlgorithm::from_u8(nea).ok_or_else(refused)?;
        let counts = (Some(count(uplink)?), Some(count(downlink)?));
        NasSecurityContext::restore_from_kamf(&kamf, nia, nea, counts, (None, None))
            .map(Self)
            .map_err(|e| of_nas(&e, &[]))
    }

    #[getter]
    fn uplink(&self) -> Option<u32> {
        self.next(Direction::Uplink)
    }

    #[getter]
    fn downlink(&self) -> Option<u32> {
        self.next(Direction::Downlink)
    }

    #[pyo3(signature = (plain, security_header, *, downlink))]
    fn protect<'py>(
        &mut self,
        py: Python<'py>,
        plain: &[u8],
        security_header: u8,
        downlink: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let header =
            Nas5gsSecurityHeaderType::try_from(security_header).map_err(|e| of_nas(&e, plain))?;
        let sealed = self
            .0
            .protect_bytes(plain.to_vec(), header, direction(downlink))
            .map_err(|e| of_nas(&e, plain))?;
        Ok(PyBytes::new(py, &sealed))
    }

    fn protect_initial<'py>(
        &mut self,
        py: Python<'py>,
        plain: &[u8],
    ) -> PyResult<Bound<'py, PyBytes>> {
        let message = Nas5gsMessage::decode(plain).map_err(|e| of_nas(&e, plain))?;
        let sealed = self
            .0
            .protect_initial(&message)
            .map_err(|e| of_nas(&e, plain))?;
        Ok(PyBytes::new(py, &sealed))
    }

    #[pyo3(signature = (data, *, downlink))]
    fn unprotect(&mut self, py: Python<'_>, data: &[u8], downlink: bool) -> PyResult<NasVerified> {
        let direction = direction(downlink);
        match self.0.unprotect_raw(data, direction) {
            Ok(verified) => Ok(NasVerified {
                plain: PyBytes::new(py, &verified.message).unbind(),
                security_header: verified.security_header_type as u8,
                count: verified.count.get(),
                outer: verified.sent.map(|outer| PyBytes::new(py, &outer).unbind()),
            }),
            Err(err) => {
                // An authentic message uses its COUNT, even if its contents are refused.
                let used = match &err {
                    NasError::AuthenticMessageRefused { .. } => {
                        let next = self.next(direction).unwrap_or(COUNTS);
                        Some(next.saturating_sub(1))
                    }
                    _ => None,
                };
                let detail = Detail {
                    count: used,
                    ..Detail::default()
                };
                Err(nas_detail(&err, data, detail))
            }
        }
    }
}

impl NasSecurity {
    fn next(&self, direction: Direction) -> Option<u32> {
        self.0
            .nas_count(direction, NasConnection::ThreeGpp)
            .map(NasCount::get)
    }
}
