//! Several devices: what joins them, how fast bytes move between them, which way is the fastest, and exchanges of all of them.
//!
//! ```
//! use metal_bridge::devices::{Link, MeasureOptions, Topology};
//!
//! # if !metal_bridge::is_available() { return Ok(()); }
//! let topology = Topology::discover()?;
//! for (index, device) in topology.devices().iter().enumerate() {
//!     println!("{index}: {}, {}", device.name(), topology.positions()[index].location.name());
//! }
//! assert_eq!(topology.link(0, 0)?, Link::SameDevice);
//!
//! let measurements = topology.measure(&MeasureOptions::new().bytes(1 << 20).repeats(3))?;
//! let figures = measurements.pair(0, 0)?;
//! println!("{:.1} GB/s, {:?}", figures.bandwidth / 1e9, figures.latency);
//! assert_eq!(measurements.route(0, 0, 1 << 20)?.through, None);
//! # Ok::<(), metal_bridge::Error>(())
//! ```
//!
//! # Names from elsewhere
//!
//! | elsewhere | here |
//! |---|---|
//! | `discover_topology`, `nvidia-smi topo -m` | [`Topology::discover`]; the command `metal-bridge topology` |
//! | `cudaDeviceCanAccessPeer` | [`Topology::link`] gives [`Link::Peers`] |
//! | `enable_p2p_access`, `cudaDeviceEnablePeerAccess` | [`Memory::enable_peer_access`](crate::memory::Memory::enable_peer_access); access is there from the beginning, where Metal lets peers read |
//! | `cudaDeviceDisablePeerAccess` | [`Memory::disable_peer_access`](crate::memory::Memory::disable_peer_access) |
//! | `transfer`, `cudaMemcpyPeer` | [`TransferQueue::copy`](crate::memory::TransferQueue::copy) of buffers of two devices |
//! | `statistics` | [`Memory::pair_statistics`](crate::memory::Memory::pair_statistics) |
//! | `scatter`, `gather`, `ncclBroadcast`, `ncclAllGather`, `ncclAllReduce` | [`Communicator`] |
//! | `p2pBandwidthLatencyTest` | [`Topology::measure`]; the command `metal-bridge topology --measure` |
//!
//! `docs/devices.md` in the repository says what Metal promises of all this.

mod all_reduce;
mod collective;
mod communicator;
mod exchanges;
mod link;
mod measure;
mod measurements;
mod options;
mod steps;
mod topology;

pub use all_reduce::Combine;
pub use collective::Collective;
pub use communicator::Communicator;
pub use link::Link;
pub use measurements::{Measurements, PairFigures, Route};
pub use options::MeasureOptions;
pub use topology::Topology;
