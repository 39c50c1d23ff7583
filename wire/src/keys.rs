//! Key derivation (TS 33.501 annex A) and the raw NIA and NEA algorithms (annex D).

use oxirush_security::milenage::Res;
use oxirush_security::nas_5gs::{
    KAmf, KAusf, KGnb, KSeaf, KamfMobilityDirection, Nh, Supi, compute_hres_star, compute_res_star,
    derive_kamf, derive_kamf_prime, derive_kausf, derive_kgnb, derive_kn3iwf, derive_knas_enc,
    derive_knas_int, derive_kng_ran_star, derive_krrc_enc, derive_krrc_int, derive_kseaf,
    derive_kup_enc, derive_kup_int, derive_nh,
};
use oxirush_security::{
    Autn, Bearer, CipheringAlgorithm, Ck, Direction, Ik, IntegrityAlgorithm, NasCount, Rand,
    nea_cipher, nia_mac,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{error, of_security};

type Octets<'py> = Bound<'py, PyBytes>;

fn nia_of(number: u8) -> PyResult<IntegrityAlgorithm> {
    IntegrityAlgorithm::try_from(number)
        .map_err(|_| error("security", format!("NIA{number} is reserved")))
}

fn nea_of(number: u8) -> PyResult<CipheringAlgorithm> {
    CipheringAlgorithm::try_from(number)
        .map_err(|_| error("security", format!("NEA{number} is reserved")))
}

fn kamf_of(octets: &[u8]) -> PyResult<KAmf> {
    KAmf::from_slice(octets).map_err(of_security)
}

fn count_of(count: u32) -> PyResult<NasCount> {
    NasCount::new(count).map_err(of_security)
}

#[pyfunction]
pub fn kausf<'py>(
    py: Python<'py>,
    ck: &[u8],
    ik: &[u8],
    sn_name: &str,
    autn: &[u8],
) -> PyResult<Octets<'py>> {
    let ck = Ck::from_slice(ck).map_err(of_security)?;
    let ik = Ik::from_slice(ik).map_err(of_security)?;
    let autn = Autn::from_slice(autn).map_err(of_security)?;
    let key = derive_kausf(&ck, &ik, sn_name.as_bytes(), &autn).map_err(of_security)?;
    Ok(PyBytes::new(py, key.as_octets()))
}

#[pyfunction]
pub fn kseaf<'py>(py: Python<'py>, kausf: &[u8], sn_name: &str) -> PyResult<Octets<'py>> {
    let kausf = KAusf::from_slice(kausf).map_err(of_security)?;
    let key = derive_kseaf(&kausf, sn_name.as_bytes()).map_err(of_security)?;
    Ok(PyBytes::new(py, key.as_octets()))
}

#[pyfunction]
pub fn kamf<'py>(py: Python<'py>, kseaf: &[u8], supi: &str, abba: &[u8]) -> PyResult<Octets<'py>> {
    let kseaf = KSeaf::from_slice(kseaf).map_err(of_security)?;
    let supi = Supi::parse(supi).map_err(|e| error("security", e))?;
    let key = derive_kamf(&kseaf, &supi, abba).map_err(of_security)?;
    Ok(PyBytes::new(py, key.as_octets()))
}

#[pyfunction]
pub fn kamf_prime<'py>(
    py: Python<'py>,
    kamf: &[u8],
    downlink: bool,
    count: u32,
) -> PyResult<Octets<'py>> {
    let direction = if downlink {
        KamfMobilityDirection::Handover
    } else {
        KamfMobilityDirection::IdleMobility
    };
    let key = derive_kamf_prime(&kamf_of(kamf)?, direction, count_of(count)?);
    Ok(PyBytes::new(py, key.as_octets()))
}

#[pyfunction]
pub fn knas_int<'py>(py: Python<'py>, kamf: &[u8], nia: u8) -> PyResult<Octets<'py>> {
    Ok(PyBytes::new(
        py,
        derive_knas_int(&kamf_of(kamf)?, nia_of(nia)?).as_octets(),
    ))
}

#[pyfunction]
pub fn knas_enc<'py>(py: Python<'py>, kamf: &[u8], nea: u8) -> PyResult<Octets<'py>> {
    Ok(PyBytes::new(
        py,
        derive_knas_enc(&kamf_of(kamf)?, nea_of(nea)?).as_octets(),
    ))
}

#[pyfunction]
pub fn kgnb<'py>(py: Python<'py>, kamf: &[u8], uplink_count: u32) -> PyResult<Octets<'py>> {
    let key = derive_kgnb(&kamf_of(kamf)?, count_of(uplink_count)?);
    Ok(PyBytes::new(py, key.as_octets()))
}

#[pyfunction]
pub fn kn3iwf<'py>(py: Python<'py>, kamf: &[u8], uplink_count: u32) -> PyResult<Octets<'py>> {
    let key = derive_kn3iwf(&kamf_of(kamf)?, count_of(uplink_count)?);
    Ok(PyBytes::new(py, key.as_octets()))
}

#[pyfunction]
pub fn nh<'py>(py: Python<'py>, kamf: &[u8], sync_input: &[u8]) -> PyResult<Octets<'py>> {
    let input = Nh::from_slice(sync_input).map_err(of_security)?;
    Ok(PyBytes::new(
        py,
        derive_nh(&kamf_of(kamf)?, &input).as_octets(),
    ))
}

#[pyfunction]
pub fn kng_ran_star<'py>(
    py: Python<'py>,
    base_key: &[u8],
    pci: u16,
    arfcn_dl: u32,
) -> PyResult<Octets<'py>> {
    let base = Nh::from_slice(base_key).map_err(of_security)?;
    let key = derive_kng_ran_star(&base, pci, arfcn_dl).map_err(of_security)?;
    Ok(PyBytes::new(py, key.as_octets()))
}

/// The four access stratum keys of a KgNB, in the order RRCint, RRCenc, UPint, UPenc.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub fn as_keys<'py>(
    py: Python<'py>,
    kgnb: &[u8],
    nia: u8,
    nea: u8,
) -> PyResult<(Octets<'py>, Octets<'py>, Octets<'py>, Octets<'py>)> {
    let kgnb = KGnb::from_slice(kgnb).map_err(of_security)?;
    let (nia, nea) = (nia_of(nia)?, nea_of(nea)?);
    Ok((
        PyBytes::new(py, derive_krrc_int(&kgnb, nia).as_octets()),
        PyBytes::new(py, derive_krrc_enc(&kgnb, nea).as_octets()),
        PyBytes::new(py, derive_kup_int(&kgnb, nia).as_octets()),
        PyBytes::new(py, derive_kup_enc(&kgnb, nea).as_octets()),
    ))
}

#[pyfunction]
pub fn res_star<'py>(
    py: Python<'py>,
    ck: &[u8],
    ik: &[u8],
    sn_name: &str,
    rand: &[u8],
    res: &[u8],
) -> PyResult<Octets<'py>> {
    let ck = Ck::from_slice(ck).map_err(of_security)?;
    let ik = Ik::from_slice(ik).map_err(of_security)?;
    let rand = Rand::from_slice(rand).map_err(of_security)?;
    let res = Res::from_slice(res).map_err(of_security)?;
    let out = compute_res_star(&ck, &ik, sn_name.as_bytes(), &rand, res.as_octets())
        .map_err(of_security)?;
    Ok(PyBytes::new(py, out.as_octets()))
}

#[pyfunction]
pub fn hres_star<'py>(py: Python<'py>, rand: &[u8], res_star: &[u8]) -> PyResult<Octets<'py>> {
    let rand = Rand::from_slice(rand).map_err(of_security)?;
    let res = oxirush_security::nas_5gs::ResStar::from_slice(res_star).map_err(of_security)?;
    Ok(PyBytes::new(py, compute_hres_star(&rand, &res).as_octets()))
}

fn direction(downlink: bool) -> Direction {
    if downlink {
        Direction::Downlink
    } else {
        Direction::Uplink
    }
}

fn bearer_of(bearer: u8) -> PyResult<Bearer> {
    Bearer::new(bearer).map_err(of_security)
}

#[pyfunction]
#[pyo3(signature = (algorithm, key, count, bearer, message, *, downlink))]
pub fn nia<'py>(
    py: Python<'py>,
    algorithm: u8,
    key: &[u8],
    count: u32,
    bearer: u8,
    message: &[u8],
    downlink: bool,
) -> PyResult<Octets<'py>> {
    let key = oxirush_security::nas_5gs::KNasInt::from_slice(key).map_err(of_security)?;
    let mac = nia_mac(
        &key,
        count,
        bearer_of(bearer)?,
        direction(downlink),
        message,
        nia_of(algorithm)?,
    );
    Ok(PyBytes::new(py, &mac.to_be_bytes()))
}

#[pyfunction]
#[pyo3(signature = (algorithm, key, count, bearer, data, *, downlink))]
pub fn nea<'py>(
    py: Python<'py>,
    algorithm: u8,
    key: &[u8],
    count: u32,
    bearer: u8,
    data: &[u8],
    downlink: bool,
) -> PyResult<Octets<'py>> {
    let key = oxirush_security::nas_5gs::KNasEnc::from_slice(key).map_err(of_security)?;
    let mut out = data.to_vec();
    let (bearer, direction) = (bearer_of(bearer)?, direction(downlink));
    nea_cipher(&key, count, bearer, direction, &mut out, nea_of(algorithm)?);
    Ok(PyBytes::new(py, &out))
}
