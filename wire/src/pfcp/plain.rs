//! The Python types of the parts of a value: numbers, text, and hexadecimal text for octets.

use std::net::{Ipv4Addr, Ipv6Addr};

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyString};
use rs_pfcp::{Seid, Teid};

use super::fault::Fault;
use super::octets::{from_hex, to_hex};

/// A value without parts, or a list of such values.
pub trait Plain: Sized {
    fn put<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>>;
    fn take(value: &Bound<'_, PyAny>) -> Result<Self, Fault>;
}

macro_rules! numbers {
    ($($type:ty)*) => {
        $(impl Plain for $type {
            fn put<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                Ok(self.into_pyobject(py)?.into_any())
            }

            fn take(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
                Ok(value.extract()?)
            }
        })*
    };
}

numbers!(u8 u16 u32 u64 i32 i64);

macro_rules! identifiers {
    ($($type:ident)*) => {
        $(impl Plain for $type {
            fn put<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                self.0.put(py)
            }

            fn take(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
                Plain::take(value).map($type)
            }
        })*
    };
}

identifiers!(Seid Teid);

macro_rules! addresses {
    ($($type:ty: $what:literal)*) => {
        $(impl Plain for $type {
            fn put<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                Ok(PyString::new(py, &self.to_string()).into_any())
            }

            fn take(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
                let text = text_of(value)?;
                text.parse().map_err(|_| Fault::new(format!("{text:?} is no {}", $what)))
            }
        })*
    };
}

addresses!(Ipv4Addr: "IPv4 address" Ipv6Addr: "IPv6 address");

impl Plain for bool {
    fn put<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(PyBool::new(py, *self).to_owned().into_any())
    }

    fn take(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
        Ok(value.extract()?)
    }
}

impl Plain for String {
    fn put<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(PyString::new(py, self).into_any())
    }

    fn take(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
        text_of(value)
    }
}

/// Octets in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hex(pub Vec<u8>);

impl Plain for Hex {
    fn put<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(PyString::new(py, &to_hex(&self.0)).into_any())
    }

    fn take(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
        from_hex(&text_of(value)?).map(Hex)
    }
}

impl<const N: usize> Plain for [u8; N] {
    fn put<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(PyString::new(py, &to_hex(self)).into_any())
    }

    fn take(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
        let Hex(octets) = Hex::take(value)?;
        octets
            .try_into()
            .map_err(|_| Fault::new(format!("not {N} octets")))
    }
}

/// Octets that are nearly always text: a text, or else a dict of `octets`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text(pub Vec<u8>);

impl Plain for Text {
    fn put<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => Ok(PyString::new(py, text).into_any()),
            Err(_) => octets_alone(py, &self.0),
        }
    }

    fn take(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
        match alone(value)? {
            Some(octets) => Ok(Text(octets)),
            None => text_of(value).map(|text| Text(text.into_bytes())),
        }
    }
}

impl<T: Plain> Plain for Vec<T> {
    fn put<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let list = PyList::empty(py);
        for item in self {
            list.append(item.put(py)?)?;
        }
        Ok(list.into_any())
    }

    fn take(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
        let list = value
            .cast::<PyList>()
            .map_err(|_| Fault::new("a list is needed"))?;
        list.iter().map(|item| T::take(&item)).collect()
    }
}

/// The text of a value.
pub fn text_of(value: &Bound<'_, PyAny>) -> Result<String, Fault> {
    let text = value
        .cast::<PyString>()
        .map_err(|_| Fault::new("text is needed"))?;
    Ok(text.to_cow()?.into_owned())
}

/// A value that is represented by its octets.
pub fn octets_alone<'py>(py: Python<'py>, octets: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let dict = PyDict::new(py);
    dict.set_item("octets", to_hex(octets))?;
    Ok(dict.into_any())
}

/// The octets of a value that is represented by its octets.
pub fn alone(value: &Bound<'_, PyAny>) -> Result<Option<Vec<u8>>, Fault> {
    let Ok(dict) = value.cast::<PyDict>() else {
        return Ok(None);
    };
    match dict.get_item("octets")? {
        Some(octets) if dict.len() == 1 => Hex::take(&octets).map(|Hex(octets)| Some(octets)),
        _ => Ok(None),
    }
}
