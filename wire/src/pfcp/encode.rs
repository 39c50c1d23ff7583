//! Encodes a tree into octets.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use rs_pfcp::message::MsgType;
use rs_pfcp::message::header::Header;
use rs_pfcp::types::SequenceNumber;

use super::decode::MOST;
use super::fault::Fault;
use super::kind::{Kind, Needed, Part, record_of};
use super::message::{self, VERSION};
use super::plain::{Hex, alone};
use super::table::by_name;
use crate::error::{Detail, detailed};

fn refused(fault: &Fault, ie: Option<String>) -> PyErr {
    let text = match &ie {
        Some(name) => format!("{name}: {fault}"),
        None => fault.to_string(),
    };
    let detail = Detail {
        ie,
        ..Detail::default()
    };
    detailed("pfcp-encode", text, detail)
}

/// The octets of a message.
pub fn octets(tree: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let of_header = |fault: Fault| refused(&fault, None);
    let (mut header, ies) = header(tree).map_err(of_header)?;
    let mut out = Vec::with_capacity(512);
    header.marshal_into(&mut out);
    list(&ies, &mut out, MOST)?;
    header.length = u16::try_from(out.len() - 4)
        .map_err(|_| of_header(Fault::new("it has more than 65535 octets")))?;
    let start = header.len().into();
    header.marshal_to(&mut out[..start]);
    Ok(out)
}

fn header<'py>(tree: &Bound<'py, PyAny>) -> Result<(Header, Bound<'py, PyAny>), Fault> {
    const NAMES: &[&str] = &[
        "message",
        "message_type",
        "version",
        "seid",
        "sequence",
        "priority",
        "follow_on",
        "ies",
    ];
    let dict = record_of(tree, NAMES)?;
    let Needed(name) = Part::take_from(dict, "message")?;
    let name: String = name;
    let number: Option<u8> = Part::take_from(dict, "message_type")?;
    let version: Option<u8> = Part::take_from(dict, "version")?;
    let seid: Option<u64> = Part::take_from(dict, "seid")?;
    let Needed(sequence) = Part::take_from(dict, "sequence")?;
    let sequence: u32 = sequence;
    let priority: Option<u8> = Part::take_from(dict, "priority")?;
    let follow_on: Option<bool> = Part::take_from(dict, "follow_on")?;
    if sequence > SequenceNumber::MAX {
        return Err(Fault::new(format!("sequence {sequence} is over 24 bits")));
    }
    let session = seid.unwrap_or_default();
    let mut header = match (message::named(&name), number) {
        (Some(kind), None) => Header::new(kind, seid.is_some(), session, sequence),
        (None, Some(number)) if name == message::UNKNOWN => {
            Header::new_unknown(number, seid.is_some(), session, sequence)?
        }
        (Some(_), Some(_)) => return Err(Fault::new("message_type is of unknown messages")),
        (None, None) if name == message::UNKNOWN => {
            return Err(Fault::new("message_type is missing"));
        }
        (None, _) => return Err(Fault::new(format!("there is no message {name:?}"))),
    };
    header.version = version.unwrap_or(VERSION);
    let told = header.message_type == MsgType::VersionNotSupportedResponse;
    if header.version > 7 || (header.version != VERSION && !told) {
        return Err(Fault::new(format!(
            "version {} is not this one",
            header.version
        )));
    }
    if let Some(priority) = priority {
        if priority > 15 {
            return Err(Fault::new(format!("priority {priority} is over 15")));
        }
        header.has_mp = true;
        header.message_priority = priority << 4;
    }
    header.has_fo = follow_on.unwrap_or_default();
    let ies = dict.get_item("ies")?;
    Ok((header, ies.ok_or_else(|| Fault::new("ies is missing"))?))
}

fn list(ies: &Bound<'_, PyAny>, out: &mut Vec<u8>, deeper: usize) -> PyResult<()> {
    let wrong = |text: &str| refused(&Fault::new(text), None);
    let ies = ies.cast::<PyList>().map_err(|_| wrong("ies are a list"))?;
    for entry in ies.iter() {
        let entry = entry
            .cast::<PyDict>()
            .ok()
            .filter(|entry| entry.len() == 1)
            .ok_or_else(|| wrong("an IE is a dict of its name and its value"))?;
        for (name, value) in entry.iter() {
            ie(&name, &value, out, deeper)?;
        }
    }
    Ok(())
}

fn ie(
    name: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
    out: &mut Vec<u8>,
    deeper: usize,
) -> PyResult<()> {
    let unnamed = |fault: Fault| refused(&fault, None);
    let name = name
        .cast::<PyString>()
        .map_err(|_| unnamed(Fault::new("the name of an IE is text")))?;
    let text = name.to_cow().map_err(|err| unnamed(err.into()))?;
    let known = by_name(&text);
    let named = |fault: Fault| refused(&fault, Some(text.clone().into_owned()));
    let number = match known {
        Some(ie) => ie.number,
        None => text
            .parse()
            .ok()
            .filter(|number: &u16| number.to_string() == text)
            .ok_or_else(|| named(Fault::new("there is no such IE")))?,
    };
    out.extend_from_slice(&number.to_be_bytes());
    out.extend_from_slice(&[0, 0]);
    let start = out.len();
    match known.map(|ie| ie.kind) {
        _ if number & 0x8000 != 0 => {
            let (enterprise, octets) = of_vendor(value).map_err(named)?;
            out.extend_from_slice(&enterprise.to_be_bytes());
            out.extend_from_slice(&octets);
        }
        Some(Kind::Group) if value.is_instance_of::<PyList>() => {
            let Some(deeper) = deeper.checked_sub(1) else {
                return Err(named(Fault::new(format!("groups nest deeper than {MOST}"))));
            };
            list(value, out, deeper)?;
        }
        other => match (other, alone(value).map_err(named)?) {
            (_, Some(octets)) => out.extend_from_slice(&octets),
            (Some(Kind::Value { write, .. }), None) => write(value, out).map_err(named)?,
            (Some(Kind::Group), None) => {
                return Err(named(Fault::new("its value is a list of IEs")));
            }
            (_, None) => return Err(named(Fault::new("its value is a dict of octets"))),
        },
    }
    let length = u16::try_from(out.len() - start)
        .map_err(|_| named(Fault::new("it has more than 65535 octets")))?;
    out[start - 2..start].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

fn of_vendor(value: &Bound<'_, PyAny>) -> Result<(u16, Vec<u8>), Fault> {
    let dict = record_of(value, &["enterprise", "octets"])?;
    let Needed(enterprise) = Part::take_from(dict, "enterprise")?;
    let Needed(Hex(octets)) = Part::take_from(dict, "octets")?;
    Ok((enterprise, octets))
}
