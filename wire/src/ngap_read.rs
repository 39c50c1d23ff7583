//! An NGAP PDU received from a node: its name, its faults, and its IEs by name.

use std::sync::OnceLock;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::error::of_ngap_read;
use crate::ngap::{NgapPeek, faults_of, ngap_decode, peek, read};
use crate::ngap_common::common_ies;

/// A received PDU. Each result is computed on demand.
#[pyclass(frozen, module = "wire")]
pub struct NgapRead {
    #[pyo3(get)]
    peek: Py<NgapPeek>,
    data: Py<PyBytes>,
    /// Whether the check found no fault; unset before the first check.
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
    /// The result of `ngap_check`.
    fn check(&self, py: Python<'_>) -> PyResult<Option<Py<PyDict>>> {
        let octets = self.data.as_bytes(py);
        let pdu = read(octets)?;
        let deviations = pdu.check().map_err(|e| of_ngap_read(&e, octets))?;
        let _ = self.clean.set(deviations.is_empty());
        faults_of(py, &pdu, deviations)
    }

    /// The IEs by name; for a repeated IE, the first.
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
