//! [`DevicePosition`]: where a device is in the machine, and among its peers.

use super::device::Device;
use crate::sys;

/// Where a device is in the machine, and among its peers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DevicePosition {
    /// The device's peers; none if Metal names no peer group.
    pub peers: Option<PeerGroup>,
    /// How the device is attached (`location`).
    pub location: DeviceLocation,
    /// Tells devices of one location apart, such as the number of the slot (`locationNumber`).
    pub location_number: u64,
    /// Bytes a second, at most, between system memory and the device's own memory (`maxTransferRate`); none for a built-in
    /// device, and if the system does not know.
    pub max_transfer_rate: Option<u64>,
}

/// Devices whose blits read each other's private buffers through remote views.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeerGroup {
    /// The same number for every device of the group (`peerGroupID`).
    pub id: u64,
    /// The device's number in the group (`peerIndex`).
    pub index: u32,
    /// Devices in the group (`peerCount`).
    pub count: u32,
}

/// How a device is attached to the machine (`MTLDeviceLocation`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeviceLocation {
    /// Part of the machine.
    BuiltIn,
    /// In a slot of the machine.
    Slot,
    /// Outside of the machine, as over Thunderbolt.
    External,
    /// The system does not say.
    Unspecified,
}

impl DeviceLocation {
    /// What the location is called in tables.
    pub fn name(self) -> &'static str {
        match self {
            DeviceLocation::BuiltIn => "built in",
            DeviceLocation::Slot => "slot",
            DeviceLocation::External => "external",
            DeviceLocation::Unspecified => "unspecified",
        }
    }
}

impl Device {
    /// Where the device is in the machine and among its peers, now: devices come and go.
    pub fn position(&self) -> DevicePosition {
        let mut position = sys::mtb_device_position {
            peer_group_id: 0,
            peer_index: 0,
            peer_count: 0,
            location: sys::MTB_LOCATION_UNSPECIFIED,
            location_number: 0,
            max_transfer_rate: 0,
        };
        // SAFETY: both are live.
        unsafe { sys::mtb_device_get_position(self.as_ptr(), &mut position) };
        let peers = (position.peer_group_id != 0).then_some(PeerGroup {
            id: position.peer_group_id,
            index: position.peer_index,
            count: position.peer_count,
        });
        let location = match position.location {
            sys::MTB_LOCATION_BUILT_IN => DeviceLocation::BuiltIn,
            sys::MTB_LOCATION_SLOT => DeviceLocation::Slot,
            sys::MTB_LOCATION_EXTERNAL => DeviceLocation::External,
            _ => DeviceLocation::Unspecified,
        };
        DevicePosition {
            peers,
            location,
            location_number: position.location_number,
            max_transfer_rate: (position.max_transfer_rate != 0)
                .then_some(position.max_transfer_rate),
        }
    }
}
