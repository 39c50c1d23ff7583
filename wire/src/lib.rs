//! `wire`: every byte format of evcore in one Python module. No I/O, no clock, no logging. wire.pyi
//! describes the Python interface.

mod aka;
mod canonical;
mod depth;
mod eap;
mod entropy;
mod error;
mod keys;
mod locate;
mod nas;
mod nas_build;
mod nas_read;
mod nas_security;
mod ngap;
mod ngap_common;
mod ngap_read;
mod ngap_template;
mod pfcp;
mod sctp;
mod seal;
mod suci;
mod tmsi;

use pyo3::prelude::*;

/// The version, profile and codec versions of this build.
#[pyfunction]
fn build_info() -> String {
    let profile = if cfg!(debug_assertions) {
        "debug"
    } else {
        "release"
    };
    format!(
        "wire {} ({profile}), oxirush-ngap {}",
        env!("CARGO_PKG_VERSION"),
        oxirush_ngap::VERSION
    )
}

#[pymodule]
fn wire(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("WireError", m.py().get_type::<error::WireError>())?;
    m.add("ERROR_KINDS", error::KINDS.to_vec())?;
    m.add("SOURCE_DIGEST", env!("WIRE_SOURCE_DIGEST"))?;
    m.add_function(wrap_pyfunction!(build_info, m)?)?;
    m.add_function(wrap_pyfunction!(entropy::forbid_entropy, m)?)?;

    m.add_class::<ngap::NgapPeek>()?;
    m.add_function(wrap_pyfunction!(ngap::ngap_peek, m)?)?;
    m.add_function(wrap_pyfunction!(ngap::ngap_decode, m)?)?;
    m.add_function(wrap_pyfunction!(ngap::ngap_encode, m)?)?;
    m.add_function(wrap_pyfunction!(ngap::ngap_check, m)?)?;

    m.add_class::<ngap_read::NgapRead>()?;
    m.add_function(wrap_pyfunction!(ngap_read::ngap_read, m)?)?;
    m.add_class::<ngap_template::NgapTemplate>()?;

    m.add_class::<nas::NasPeek>()?;
    m.add_class::<nas_read::NasRead>()?;
    m.add_function(wrap_pyfunction!(nas::nas_peek, m)?)?;
    m.add_function(wrap_pyfunction!(nas::nas_decode, m)?)?;
    m.add_function(wrap_pyfunction!(nas_read::nas_read, m)?)?;
    m.add_function(wrap_pyfunction!(nas::nas_encode, m)?)?;
    m.add_function(wrap_pyfunction!(nas::nas_answer, m)?)?;
    m.add_function(wrap_pyfunction!(nas::ue_security_capability, m)?)?;
    m.add_class::<nas_build::NasTemplate>()?;
    m.add_function(wrap_pyfunction!(nas_build::nas_authentication_request, m)?)?;
    m.add_function(wrap_pyfunction!(nas_build::nas_dl_transport, m)?)?;
    m.add_class::<nas_security::NasSecurity>()?;
    m.add_class::<nas_security::NasVerified>()?;

    m.add_class::<pfcp::PfcpPeek>()?;
    m.add_function(wrap_pyfunction!(pfcp::pfcp_peek, m)?)?;
    m.add_function(wrap_pyfunction!(pfcp::pfcp_decode, m)?)?;
    m.add_function(wrap_pyfunction!(pfcp::pfcp_encode, m)?)?;
    m.add_function(wrap_pyfunction!(pfcp::pfcp_check, m)?)?;

    m.add_class::<aka::AkaVector>()?;
    m.add_class::<aka::UsimAnswer>()?;
    m.add_function(wrap_pyfunction!(aka::milenage, m)?)?;
    m.add_function(wrap_pyfunction!(aka::milenage_opc, m)?)?;
    m.add_function(wrap_pyfunction!(aka::aka_vector, m)?)?;
    m.add_function(wrap_pyfunction!(aka::usim_answer, m)?)?;
    m.add_function(wrap_pyfunction!(aka::auts, m)?)?;
    m.add_function(wrap_pyfunction!(aka::verify_auts, m)?)?;

    m.add_class::<eap::EapAkaKeys>()?;
    m.add_function(wrap_pyfunction!(eap::eap_aka_keys, m)?)?;
    m.add_function(wrap_pyfunction!(eap::eap_aka_challenge, m)?)?;
    m.add_function(wrap_pyfunction!(eap::eap_aka_mac_is_right, m)?)?;
    m.add_function(wrap_pyfunction!(eap::eap_decode, m)?)?;
    m.add_function(wrap_pyfunction!(eap::eap_result, m)?)?;

    m.add_function(wrap_pyfunction!(keys::kausf, m)?)?;
    m.add_function(wrap_pyfunction!(keys::kseaf, m)?)?;
    m.add_function(wrap_pyfunction!(keys::kamf, m)?)?;
    m.add_function(wrap_pyfunction!(keys::kamf_prime, m)?)?;
    m.add_function(wrap_pyfunction!(keys::knas_int, m)?)?;
    m.add_function(wrap_pyfunction!(keys::knas_enc, m)?)?;
    m.add_function(wrap_pyfunction!(keys::kgnb, m)?)?;
    m.add_function(wrap_pyfunction!(keys::kn3iwf, m)?)?;
    m.add_function(wrap_pyfunction!(keys::nh, m)?)?;
    m.add_function(wrap_pyfunction!(keys::kng_ran_star, m)?)?;
    m.add_function(wrap_pyfunction!(keys::as_keys, m)?)?;
    m.add_function(wrap_pyfunction!(keys::res_star, m)?)?;
    m.add_function(wrap_pyfunction!(keys::hres_star, m)?)?;
    m.add_function(wrap_pyfunction!(keys::nia, m)?)?;
    m.add_function(wrap_pyfunction!(keys::nea, m)?)?;

    m.add_function(wrap_pyfunction!(suci::suci_public_key, m)?)?;
    m.add_function(wrap_pyfunction!(suci::suci_conceal, m)?)?;
    m.add_function(wrap_pyfunction!(suci::suci_scheme, m)?)?;
    m.add_function(wrap_pyfunction!(suci::suci_deconceal, m)?)?;

    m.add_class::<tmsi::TmsiCipher>()?;
    m.add_class::<seal::Sealer>()?;
    m.add_class::<sctp::SctpEndpoint>()?;
    Ok(())
}
