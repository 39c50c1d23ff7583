//! Decodes octets into a tree.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::frames::{Frame, Frames};
use super::kind::Kind;
use super::message::{self, Framed, VERSION};
use super::octets::to_hex;
use super::plain::octets_alone;
use super::table::{by_number, is_update, name_of, python_name};
use crate::error::{Detail, detailed};

/// The deepest nesting of groups, more than any group of the specification needs.
pub const MOST: usize = 8;

pub fn refused(text: impl std::fmt::Display, ie: Option<u16>, at: usize) -> PyErr {
    let detail = Detail {
        ie: ie.map(name_of),
        offset: Some(at),
        ..Detail::default()
    };
    match &detail.ie {
        Some(name) => detailed("pfcp-decode", format!("{name}: {text}"), detail),
        None => detailed("pfcp-decode", text, detail),
    }
}

/// The tree of a message.
pub fn tree<'py>(
    py: Python<'py>,
    framed: &Framed<'_>,
    lenient: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let header = &framed.header;
    let name = message::name_of(header.message_type);
    let out = PyDict::new(py);
    out.set_item(intern!(py, "message"), name)?;
    if name == message::UNKNOWN {
        out.set_item(intern!(py, "message_type"), header.message_type_code())?;
    }
    if header.version != VERSION {
        out.set_item(intern!(py, "version"), header.version)?;
    }
    if header.has_seid {
        out.set_item(intern!(py, "seid"), header.seid.0)?;
    }
    out.set_item(intern!(py, "sequence"), header.sequence_number.0)?;
    if let Some(priority) = framed.priority() {
        out.set_item(intern!(py, "priority"), priority)?;
    }
    if header.has_fo {
        out.set_item(intern!(py, "follow_on"), true)?;
    }
    let start = framed.start();
    let ies = list(py, &framed.message[start..], None, start, lenient, MOST)?;
    out.set_item(intern!(py, "ies"), ies)?;
    Ok(out)
}

fn list<'py>(
    py: Python<'py>,
    octets: &[u8],
    within: Option<u16>,
    at: usize,
    lenient: bool,
    deeper: usize,
) -> PyResult<Bound<'py, PyList>> {
    let out = PyList::empty(py);
    for frame in Frames::new(octets, at) {
        let frame = match frame {
            Ok(frame) => frame,
            Err(_) if lenient => break,
            Err(broken) => return Err(refused(broken.fault, broken.number, broken.at)),
        };
        let value = match value(py, &frame, lenient, deeper) {
            Ok(value) => value,
            Err(_) if frame.value.is_empty() && is_update(within) => octets_alone(py, &[])?,
            Err(_) if lenient => continue,
            Err(err) => return Err(err),
        };
        let entry = PyDict::new(py);
        entry.set_item(python_name(py, frame.number), value)?;
        out.append(entry)?;
    }
    Ok(out)
}

fn value<'py>(
    py: Python<'py>,
    frame: &Frame<'_>,
    lenient: bool,
    deeper: usize,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(enterprise) = frame.enterprise {
        let out = PyDict::new(py);
        out.set_item(intern!(py, "enterprise"), enterprise)?;
        out.set_item(intern!(py, "octets"), to_hex(frame.value))?;
        return Ok(out.into_any());
    }
    match by_number(frame.number).map(|ie| ie.kind) {
        None | Some(Kind::Octets) => octets_alone(py, frame.value),
        Some(Kind::Group) => {
            let Some(deeper) = deeper.checked_sub(1) else {
                let text = format!("groups nest deeper than {MOST}");
                return Err(refused(text, Some(frame.number), frame.at));
            };
            let within = Some(frame.number);
            let ies = list(py, frame.value, within, frame.inside(), lenient, deeper)?;
            Ok(ies.into_any())
        }
        Some(Kind::Value { read, .. }) => read(py, frame.value)
            .map_err(|fault| refused(fault, Some(frame.number), frame.inside())),
    }
}
