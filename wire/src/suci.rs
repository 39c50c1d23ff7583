//! SUCI concealment and de-concealment (TS 33.501 annex C): null scheme, profiles A and B.

use oxirush_security::identity::{Plmn, RoutingIndicator};
use oxirush_security::nas_5gs::{HomeNetworkPrivateKey, HomeNetworkPublicKey, Protection, Suci};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::entropy;
use crate::error::error;

fn suci_error(err: impl std::fmt::Display) -> PyErr {
    error("suci", err)
}

fn private_key(profile: &str, key: &[u8]) -> PyResult<HomeNetworkPrivateKey> {
    let octets: &[u8; 32] = key
        .try_into()
        .map_err(|_| suci_error("a home network private key has 32 octets"))?;
    match profile {
        "A" => Ok(HomeNetworkPrivateKey::profile_a(octets)),
        "B" => HomeNetworkPrivateKey::profile_b(octets).map_err(suci_error),
        other => Err(suci_error(format!("unknown profile {other:?}: A or B"))),
    }
}

#[pyfunction]
pub fn suci_public_key<'py>(
    py: Python<'py>,
    profile: &str,
    key: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(
        py,
        &private_key(profile, key)?.public_key().to_octets(),
    ))
}

#[pyfunction]
#[pyo3(signature = (mcc, mnc, msin, *, routing_indicator="0", profile=None, public_key=None, key_id=0))]
#[allow(clippy::too_many_arguments)]
pub fn suci_conceal<'py>(
    py: Python<'py>,
    mcc: &str,
    mnc: &str,
    msin: &str,
    routing_indicator: &str,
    profile: Option<&str>,
    public_key: Option<&[u8]>,
    key_id: u8,
) -> PyResult<Bound<'py, PyBytes>> {
    let plmn = Plmn::new(mcc, mnc).map_err(suci_error)?;
    let routing = RoutingIndicator::new(routing_indicator).map_err(suci_error)?;
    let key = match (profile, public_key) {
        (None, _) => None,
        (Some("A"), Some(octets)) => {
            let octets: &[u8; 32] = octets
                .try_into()
                .map_err(|_| suci_error("a profile A public key has 32 octets"))?;
            Some(HomeNetworkPublicKey::profile_a(octets))
        }
        (Some("B"), Some(octets)) => {
            Some(HomeNetworkPublicKey::profile_b(octets).map_err(suci_error)?)
        }
        (Some(profile), Some(_)) => {
            return Err(suci_error(format!("unknown profile {profile:?}: A or B")));
        }
        (Some(_), None) => return Err(suci_error("a profile needs a public key")),
    };
    if key.is_some() {
        entropy::check("suci_conceal")?;
    }
    let protection = key
        .as_ref()
        .map_or(Protection::Null, |key| Protection::Ecies { key_id, key });
    #[expect(clippy::disallowed_methods, reason = "entropy::check comes first")]
    let suci = Suci::conceal_imsi(plmn, msin, routing, protection).map_err(suci_error)?;
    Ok(PyBytes::new(py, &suci.to_nas_octets().map_err(suci_error)?))
}

/// The scheme and the home network public key identifier of a SUCI.
#[pyfunction]
pub fn suci_scheme(suci: &[u8]) -> PyResult<(u8, u8)> {
    let suci = Suci::from_nas_octets(suci).map_err(suci_error)?;
    Ok((
        suci.protection_scheme().identifier(),
        suci.home_network_public_key_id(),
    ))
}

#[pyfunction]
#[pyo3(signature = (suci, profile=None, key=None))]
pub fn suci_deconceal(suci: &[u8], profile: Option<&str>, key: Option<&[u8]>) -> PyResult<String> {
    let suci = Suci::from_nas_octets(suci).map_err(suci_error)?;
    let key = match (profile, key) {
        (Some(profile), Some(key)) => Some(private_key(profile, key)?),
        _ => None,
    };
    let identity = suci.deconceal(key.as_ref()).map_err(suci_error)?;
    Ok(identity.to_string())
}
