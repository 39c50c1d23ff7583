//! How the value of an IE is converted to and from Python.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use rs_pfcp::error::PfcpError;

use super::fault::Fault;
use super::plain::{Plain, text_of};

pub type Read = for<'py> fn(Python<'py>, &[u8]) -> Result<Bound<'py, PyAny>, Fault>;
pub type Write = fn(&Bound<'_, PyAny>, &mut Vec<u8>) -> Result<(), Fault>;

/// The kind of an IE's value.
#[derive(Clone, Copy)]
pub enum Kind {
    /// A group of IEs.
    Group,
    /// A single value.
    Value { read: Read, write: Write },
    /// Octets that this crate does not interpret.
    Octets,
}

/// The result types of rs-pfcp and of this crate for the octets of a value.
pub trait Marshalled {
    fn append(self, out: &mut Vec<u8>) -> Result<(), Fault>;
}

impl Marshalled for Vec<u8> {
    fn append(self, out: &mut Vec<u8>) -> Result<(), Fault> {
        out.extend_from_slice(&self);
        Ok(())
    }
}

impl<const N: usize> Marshalled for [u8; N] {
    fn append(self, out: &mut Vec<u8>) -> Result<(), Fault> {
        out.extend_from_slice(&self);
        Ok(())
    }
}

impl Marshalled for Result<Vec<u8>, PfcpError> {
    fn append(self, out: &mut Vec<u8>) -> Result<(), Fault> {
        self?.append(out)
    }
}

impl Marshalled for Result<Vec<u8>, Fault> {
    fn append(self, out: &mut Vec<u8>) -> Result<(), Fault> {
        self?.append(out)
    }
}

/// A part of a record: mandatory, or optional as an `Option`.
pub trait Part: Sized {
    fn put_into(&self, dict: &Bound<'_, PyDict>, name: &str) -> PyResult<()>;
    fn take_from(dict: &Bound<'_, PyDict>, name: &str) -> Result<Self, Fault>;
}

impl<T: Plain> Part for Option<T> {
    fn put_into(&self, dict: &Bound<'_, PyDict>, name: &str) -> PyResult<()> {
        match self {
            Some(value) => dict.set_item(name, value.put(dict.py())?),
            None => Ok(()),
        }
    }

    fn take_from(dict: &Bound<'_, PyDict>, name: &str) -> Result<Self, Fault> {
        match dict.get_item(name)? {
            Some(value) => T::take(&value)
                .map(Some)
                .map_err(|fault| Fault::new(format!("{name}: {fault}"))),
            None => Ok(None),
        }
    }
}

/// A mandatory part.
pub struct Needed<T>(pub T);

impl<T: Plain> Part for Needed<T> {
    fn put_into(&self, dict: &Bound<'_, PyDict>, name: &str) -> PyResult<()> {
        dict.set_item(name, self.0.put(dict.py())?)
    }

    fn take_from(dict: &Bound<'_, PyDict>, name: &str) -> Result<Self, Fault> {
        let value: Option<T> = Part::take_from(dict, name)?;
        value
            .map(Needed)
            .ok_or_else(|| Fault::new(format!("{name} is missing")))
    }
}

/// A part with its presence as its value.
pub struct Marked(pub bool);

impl Part for Marked {
    fn put_into(&self, dict: &Bound<'_, PyDict>, name: &str) -> PyResult<()> {
        if self.0 {
            dict.set_item(name, true)?;
        }
        Ok(())
    }

    fn take_from(dict: &Bound<'_, PyDict>, name: &str) -> Result<Self, Fault> {
        let value: Option<bool> = Part::take_from(dict, name)?;
        Ok(Marked(value.unwrap_or_default()))
    }
}

/// The dict of a record, which has no other parts than `names`.
pub fn record_of<'a, 'py>(
    value: &'a Bound<'py, PyAny>,
    names: &[&str],
) -> Result<&'a Bound<'py, PyDict>, Fault> {
    let dict = value
        .cast::<PyDict>()
        .map_err(|_| Fault::new(format!("a dict is needed, of {}", names.join(", "))))?;
    for key in dict.keys() {
        let key = text_of(&key)?;
        if !names.contains(&key.as_str()) {
            let names = names.join(", ");
            return Err(Fault::new(format!("there is no {key:?}, only {names}")));
        }
    }
    Ok(dict)
}

/// A value without parts: `plain!(PdrId, |id| id.value, PdrId::new)`, with `checked` before a
/// constructor that may refuse.
macro_rules! plain {
    ($type:ty, $get:expr, checked $make:expr) => {
        $crate::pfcp::kind::Kind::Value {
            read: |py, octets| {
                let ie = <$type>::unmarshal(octets)?;
                let get: fn(&$type) -> _ = $get;
                Ok($crate::pfcp::plain::Plain::put(&get(&ie), py)?)
            },
            write: |value, out| {
                let ie: $type = ($make)($crate::pfcp::plain::Plain::take(value)?)?;
                $crate::pfcp::kind::Marshalled::append(ie.marshal(), out)
            },
        }
    };
    ($type:ty, $get:expr, $make:expr) => {
        $crate::pfcp::kind::plain!(
            $type,
            $get,
            checked | part | { Ok::<$type, $crate::pfcp::fault::Fault>(($make)(part)) }
        )
    };
}

/// A value with parts, each with its name and its place: `record!(ie: Mbr { "uplink" uplink =
/// Needed(ie.uplink); ... } => Mbr { ... })`.
macro_rules! record {
    ($ie:ident: $type:ty { $($name:literal $part:ident: $form:ty = $get:expr;)* } => $make:expr) => {
        $crate::pfcp::kind::Kind::Value {
            read: |py, octets| {
                let $ie = <$type>::unmarshal(octets)?;
                let dict = pyo3::types::PyDict::new(py);
                $({
                    let part: $form = $get;
                    $crate::pfcp::kind::Part::put_into(&part, &dict, $name)?;
                })*
                Ok(dict.into_any())
            },
            write: |value, out| {
                let dict = $crate::pfcp::kind::record_of(value, &[$($name),*])?;
                $(let $part: $form = $crate::pfcp::kind::Part::take_from(dict, $name)?;)*
                let ie: $type = $make;
                $crate::pfcp::kind::Marshalled::append(ie.marshal(), out)
            },
        }
    };
}

pub(super) use {plain, record};
