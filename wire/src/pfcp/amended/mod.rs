//! The IEs that rs-pfcp 0.5 has otherwise than TS 29.244, each with what is wrong there.
//!
//! They have the face of rs-pfcp's types, so that each can go when it is right there.

pub mod addresses;
pub mod filters;
pub mod forwarding;
pub mod names;
pub mod quantities;
pub mod rules;
