//! Products of the largest and the smallest whole numbers of each format.

use super::rounded;
use crate::support::both;
use crate::support::{EPSILON, Guarded, assert_close, buffer, run};
use metal_bridge::ops::{Epilogue, Weight, WeightType};
use metal_bridge_workloads::formats;
use rand::RngCore;

/// Fills with one byte, of which blocks with the largest and the smallest numbers come.
struct Same(u8);

impl RngCore for Same {
    fn next_u32(&mut self) -> u32 {
        u32::from_ne_bytes([self.0; 4])
    }

    fn next_u64(&mut self) -> u64 {
        u64::from_ne_bytes([self.0; 8])
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        bytes.fill(self.0);
    }
}

#[test]
fn extremes_of_every_format_are_exact() {
    let (n, k) = (9, 1024);
    let (_, x) = rounded(&[[127.0; 1024], [-127.0; 1024]].concat(), k);
    let blocks = WeightType::ALL.into_iter().filter(|kind| kind.has_blocks());
    for (kind, byte) in blocks.flat_map(|kind| [0, 0x77, 0x80, 0xff].map(|byte| (kind, byte))) {
        let bytes = formats::random(kind, n * k, 1.0, &mut Same(byte));
        let weight = Weight::new(buffer(&bytes), 0, n, k, kind).unwrap();
        let products: Vec<f64> = formats::decode(kind, &bytes)
            .iter()
            .map(|weight| weight * 127.0)
            .collect();
        let sizes = products.chunks(k).map(|row| {
            let size: f64 = row.iter().map(|product| product.abs()).sum();
            (row.iter().sum::<f64>(), size)
        });
        // Sums of whole numbers are exact: what is left are 32 blocks, their scales, and offsets of 64 parts.
        let bounded: Vec<_> = sizes
            .map(|(sum, size)| (sum, 100.0 * EPSILON * size))
            .collect();
        let exact = bounded
            .iter()
            .copied()
            .chain(bounded.iter().map(|(sum, bound)| (-sum, *bound)));
        for ops in both() {
            let y = Guarded::new(2 * n);
            let plain = Epilogue::default();
            run(|encoder| ops.linear_rounded(encoder, &weight, &x, y.view(), 2, &plain));
            let what = format!("{kind:?} of {byte:#x}, {ops:?}");
            assert_close(&what, &y.read(), exact.clone());
        }
    }
}
