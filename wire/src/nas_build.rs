//! Frequent downlink NAS messages, written from their values without a tree.

use std::net::Ipv4Addr;

use oxirush_nas::nas_5gs::{
    Guti, KeySetIdentifier, Nas5gmmMessage, Nas5gsMessage, Nas5gsmMessage, NasAbba,
    NasAuthenticationParameterAutn, NasAuthenticationParameterRand, NasAuthenticationRequest,
    NasDlNasTransport, NasFGmmCause, NasFGsMobileIdentity, NasKeySetIdentifier,
    NasPayloadContainer, NasPayloadContainerType, NasPduAddress, NasPduSessionIdentity2,
    PayloadContainerKind,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{error, of_nas};
use crate::nas::message_of;

fn octets<'py>(py: Python<'py>, message: &Nas5gsMessage) -> PyResult<Bound<'py, PyBytes>> {
    let octets = message.encode().map_err(|e| of_nas(&e, &[]))?;
    Ok(PyBytes::new(py, &octets))
}

fn sixteen(name: &str, value: &[u8]) -> PyResult<[u8; 16]> {
    value.try_into().map_err(|_| {
        let text = format!("{name} has 16 octets, and not {}", value.len());
        error("nas-encode", text)
    })
}

#[pyfunction]
pub fn nas_authentication_request<'py>(
    py: Python<'py>,
    ngksi: u8,
    abba: &[u8],
    rand: &[u8],
    autn: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    let ngksi = NasKeySetIdentifier::from_key_set_identifier(KeySetIdentifier::Native(ngksi))
        .map_err(|e| error("nas-encode", e))?;
    let request = NasAuthenticationRequest::new(ngksi, NasAbba::new(abba))
        .with_authentication_parameter_rand(NasAuthenticationParameterRand::from_rand(sixteen(
            "RAND", rand,
        )?))
        .with_authentication_parameter_autn(NasAuthenticationParameterAutn::from_autn(sixteen(
            "AUTN", autn,
        )?));
    octets(py, &Nas5gsMessage::new_5gmm(request))
}

#[pyfunction]
#[pyo3(signature = (container, psi, cause = None))]
pub fn nas_dl_transport<'py>(
    py: Python<'py>,
    container: &[u8],
    psi: u8,
    cause: Option<u8>,
) -> PyResult<Bound<'py, PyBytes>> {
    let kind = NasPayloadContainerType::from_kind(PayloadContainerKind::N1SmInformation);
    let mut transport = NasDlNasTransport::new(kind, NasPayloadContainer::new(container))
        .with_pdu_session_id(NasPduSessionIdentity2::from_pdu_session_id(psi));
    transport.fgmm_cause = cause.map(NasFGmmCause::new);
    octets(py, &Nas5gsMessage::new_5gmm(transport))
}

/// A message of a tree, encoded again with the values of each UE.
#[pyclass(frozen, module = "wire")]
pub struct NasTemplate {
    message: Nas5gsMessage,
}

#[pymethods]
impl NasTemplate {
    #[new]
    fn new(tree: &Bound<'_, PyAny>) -> PyResult<Self> {
        let message = message_of(tree)?;
        message.encode().map_err(|e| of_nas(&e, &[]))?;
        Ok(Self { message })
    }

    /// The REGISTRATION ACCEPT with another 5G-TMSI in its 5G-GUTI.
    fn registration_accept<'py>(
        &self,
        py: Python<'py>,
        tmsi: u32,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let mut message = self.message.clone();
        let Nas5gsMessage::Gmm(_, Nas5gmmMessage::RegistrationAccept(accept)) = &mut message else {
            return Err(other("REGISTRATION ACCEPT"));
        };
        let Some(guti) = accept
            .fg_guti
            .as_ref()
            .and_then(NasFGsMobileIdentity::as_guti)
        else {
            return Err(other("REGISTRATION ACCEPT with a 5G-GUTI"));
        };
        let (region, set, pointer) = (guti.amf_region_id(), guti.amf_set_id(), guti.amf_pointer());
        let guti = Guti::new(guti.plmn(), region, set, pointer, tmsi)
            .map_err(|e| error("nas-encode", e))?;
        accept.fg_guti = Some(NasFGsMobileIdentity::from_guti(guti));
        octets(py, &message)
    }

    /// The PDU SESSION ESTABLISHMENT ACCEPT of another session, with its address.
    #[pyo3(signature = (psi, pti, ipv4, interface_id))]
    fn establishment_accept<'py>(
        &self,
        py: Python<'py>,
        psi: u8,
        pti: u8,
        ipv4: &str,
        interface_id: Option<u64>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let mut message = self.message.clone();
        let Nas5gsMessage::Gsm(header, Nas5gsmMessage::PduSessionEstablishmentAccept(accept)) =
            &mut message
        else {
            return Err(other("PDU SESSION ESTABLISHMENT ACCEPT"));
        };
        header.pdu_session_identity = psi;
        header.procedure_transaction_identity = pti;
        accept.pdu_address = Some(address(ipv4, interface_id)?);
        octets(py, &message)
    }
}

fn other(wanted: &str) -> PyErr {
    error("nas-encode", format!("the template is no {wanted}"))
}

fn address(ipv4: &str, interface_id: Option<u64>) -> PyResult<NasPduAddress> {
    let four = if ipv4.is_empty() {
        None
    } else {
        let found: Ipv4Addr = (ipv4.parse())
            .map_err(|_| error("nas-encode", format!("no IPv4 address: {ipv4:?}")))?;
        Some(found.octets())
    };
    match (four, interface_id.map(u64::to_be_bytes)) {
        (Some(four), Some(six)) => Ok(NasPduAddress::from_ipv4v6(six, four)),
        (Some(four), None) => Ok(NasPduAddress::from_ipv4(four)),
        (None, Some(six)) => Ok(NasPduAddress::from_ipv6_iid(six)),
        (None, None) => Err(error("nas-encode", "a PDU address of neither version")),
    }
}
