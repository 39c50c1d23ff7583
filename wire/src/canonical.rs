//! Rewrites a received PDU in the canonical form of ITU-T X.691.
//!
//! An encoder may set padding bits or write a short length in the long form, and a later version of
//! the specification adds members to a type. Such a PDU is valid and needs no error answer. But the
//! codec's tree of it holds octets instead of IEs, so that it encodes to the same octets.

use oxirush_ngap::aper::protocol::Ie;
use oxirush_ngap::ie;
use oxirush_ngap::ngap::{NGAPPDU, decode_open_type, encode_open_type};

fn again<T: Ie>(octets: &[u8]) -> Option<Vec<u8>> {
    let value: T::Value<'_> = decode_open_type(octets).ok()?;
    encode_open_type(&value).ok().map(|octets| octets.to_vec())
}

macro_rules! value_again {
    ($id:expr, $octets:expr; $($name:ident)*) => {
        match $id {
            $(<ie::$name as Ie>::ID => again::<ie::$name>($octets),)*
            _ => None,
        }
    };
}

/// The value of an IE of the messages between a core and a gNB. `None` for any other IE, and for
/// one that does not decode.
fn value_again(id: u16, octets: &[u8]) -> Option<Vec<u8>> {
    value_again! { id, octets;
        AllowedNSSAI AMFName AMFOverloadResponse AMFSetID AMFTrafficLoadReductionIndication
        AMF_UE_NGAP_ID AssistanceDataForPaging Cause CoreNetworkAssistanceInformationForInactive
        CriticalityDiagnostics DefaultPagingDRX FiveG_S_TMSI GlobalRANNodeID GUAMI HandoverType
        IndexToRFSP InfoOnRecommendedCellsAndRANNodesForPaging MaskedIMEISV
        MobilityRestrictionList NAS_PDU NGRAN_TNLAssociationToRemoveList OldAMF
        OverloadStartNSSAIList PagingDRX PagingPriority
        PDUSessionResourceFailedToModifyListModRes PDUSessionResourceFailedToSetupListCxtFail
        PDUSessionResourceFailedToSetupListCxtRes PDUSessionResourceFailedToSetupListHOAck
        PDUSessionResourceFailedToSetupListPSReq PDUSessionResourceFailedToSetupListSURes
        PDUSessionResourceAdmittedList PDUSessionResourceHandoverList
        PDUSessionResourceListCxtRelCpl PDUSessionResourceListCxtRelReq
        PDUSessionResourceListHORqd PDUSessionResourceModifyListModReq
        PDUSessionResourceModifyListModRes PDUSessionResourceNotifyList
        PDUSessionResourceReleasedListNot PDUSessionResourceReleasedListPSAck
        PDUSessionResourceReleasedListPSFail PDUSessionResourceReleasedListRelRes
        PDUSessionResourceSetupListCxtReq PDUSessionResourceSetupListCxtRes
        PDUSessionResourceSetupListHOReq PDUSessionResourceSetupListSUReq
        PDUSessionResourceSetupListSURes PDUSessionResourceSwitchedList
        PDUSessionResourceToBeSwitchedDLList PDUSessionResourceToReleaseListHOCmd
        PDUSessionResourceToReleaseListRelCmd PLMNSupportList RANNodeName RANPagingPriority
        RANStatusTransfer_TransparentContainer RAN_UE_NGAP_ID RelativeAMFCapacity ResetType
        RRCEstablishmentCause RRCState SecurityContext SecurityKey SelectedPLMNIdentity
        ServedGUAMIList SourceAMF_UE_NGAP_ID SourceToTarget_TransparentContainer SupportedTAList
        TAIListForPaging TargetID TargetToSource_TransparentContainer TimeToWait
        UEAggregateMaximumBitRate UE_associatedLogicalNG_connectionList UEContextRequest
        UE_NGAP_IDs UEPagingIdentity UERadioCapability UERadioCapabilityForPaging
        UERetentionInformation UESecurityCapabilities UserLocationInformation
    }
}

/// The PDU with its container and the values of its IEs in the form of X.691, without the additions
/// of a later version. `None` for a message without a container of IEs.
pub fn canonical(pdu: &NGAPPDU<'_>) -> Option<NGAPPDU<'static>> {
    let mut ies = pdu.protocol_ies().ok()?.into_owned();
    for entry in &mut ies.0 {
        if let Some(octets) = value_again(entry.id.0, &entry.value) {
            entry.value = octets.into();
        }
    }
    let mut out = pdu.clone().into_owned();
    out.set_protocol_ies(ies).ok()?;
    Some(out)
}
