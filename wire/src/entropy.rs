//! Whether this thread may draw entropy. A decision may not: its only randomness is in its step.
//!
//! Two things in `wire` draw entropy: the ephemeral key of a concealed SUCI, and the tags and TSNs
//! of an SCTP association. Each calls [`check`] first.

use std::cell::Cell;

use pyo3::prelude::*;

use crate::error::error;

thread_local! {
    static FORBIDDEN: Cell<bool> = const { Cell::new(false) };
}

/// Forbids or allows entropy on this thread, and returns the setting before.
#[pyfunction]
pub fn forbid_entropy(forbidden: bool) -> bool {
    FORBIDDEN.replace(forbidden)
}

/// Refuses to draw entropy while it is forbidden on this thread.
pub fn check(what: &str) -> PyResult<()> {
    if FORBIDDEN.get() {
        return Err(error(
            "entropy",
            format!("{what} draws entropy, which is forbidden on this thread"),
        ));
    }
    Ok(())
}
