//! Limits the nesting of a tree from Python: reading a tree recurses, and the stack is finite.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::error::error;

/// Deeper than any message, and deeper than any message that the codecs write.
const MOST: usize = 300;

/// Refuse a tree with `kind` if it nests deeper than [`MOST`] or contains itself.
pub fn bounded(tree: &Bound<'_, PyAny>, kind: &'static str) -> PyResult<()> {
    if fits(tree, MOST) {
        Ok(())
    } else {
        Err(error(kind, format!("the tree nests deeper than {MOST}")))
    }
}

fn fits(tree: &Bound<'_, PyAny>, left: usize) -> bool {
    if let Ok(dict) = tree.cast::<PyDict>() {
        left > 0 && dict.iter().all(|(_, value)| fits(&value, left - 1))
    } else if let Ok(list) = tree.cast::<PyList>() {
        left > 0 && list.iter().all(|value| fits(&value, left - 1))
    } else if let Ok(tuple) = tree.cast::<PyTuple>() {
        left > 0 && tuple.iter().all(|value| fits(&value, left - 1))
    } else {
        true
    }
}
