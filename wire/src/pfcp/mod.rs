//! PFCP (TS 29.244) on N4: trees, clause 7.6 checks, and the gateway's `peek`.
//!
//! rs-pfcp reads and writes the header and the values of IEs if it conforms to the specification;
//! `amended` has the other IEs.

mod amended;
mod check;
mod decode;
mod encode;
mod fault;
mod flags;
mod frames;
mod kind;
mod message;
mod octets;
mod peek;
mod plain;
mod records;
mod required;
mod table;
mod words;

pub use check::*;
pub use peek::*;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

#[pyfunction]
#[pyo3(signature = (data, *, lenient = false))]
pub fn pfcp_decode<'py>(
    py: Python<'py>,
    data: &[u8],
    lenient: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let framed = message::whole(data).map_err(|fault| decode::refused(fault, None, 0))?;
    decode::tree(py, &framed, lenient)
}

#[pyfunction]
pub fn pfcp_encode<'py>(
    py: Python<'py>,
    tree: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    encode::octets(tree).map(|octets| PyBytes::new(py, &octets))
}
