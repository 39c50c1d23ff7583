//! The IEs that rs-pfcp 0.5 implements differently from TS 29.244. The comment of each names the
//! fault.
//!
//! They have the interface of rs-pfcp's types, so that each can be removed when rs-pfcp is
//! corrected.

pub mod addresses;
pub mod filters;
pub mod forwarding;
pub mod names;
pub mod quantities;
pub mod rules;
