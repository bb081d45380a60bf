//! Attention of some models: windows, soft caps and sinks.

use super::ELEMENTS;
use super::context::{Context, shape};
use crate::support::{Guarded, assert_close, both, buffer, device, ops, run};
use metal_bridge::ops::{AttentionShape, KvCache, KvElement};

/// Windows shorter than a block of keys, longer than one, and longer than the text; both kernels, in batches that begin inside
/// of windows.
#[test]
fn windows_agree_with_float64() {
    for element in ELEMENTS {
        for window in [1, 2, 7, 33, 70, 1000] {
            let mut context = Context::random(shape(element, 2, 150, 32), 4, 1.0);
            context.window = Some(window);
            context.check(&[45, 1, 3, 32, 1, 9, 59]);
        }
        if element == KvElement::Q8_0 {
            continue;
        }
        let mut odd_size = Context::random(shape(element, 1, 90, 20), 3, 1.0);
        odd_size.window = Some(70);
        odd_size.check(&[80, 1, 9]);
    }
}

/// What lies before the window does not count, whatever it is.
#[test]
fn keys_before_the_window_do_not_count() {
    let mut context = Context::random(shape(KvElement::F32, 1, 200, 32), 1, 1.0);
    context.window = Some(40);
    context.k[..100 * 32].fill(f32::NAN);
    context.v[..100 * 32].fill(f32::NAN);
    let cache = KvCache::new(device(), &context.shape).expect("a cache");
    let (k, v) = (buffer(&context.k), buffer(&context.v));
    let table = &context.table();
    run(|encoder| ops().kv_append(encoder, &cache, table, &k, &v, 200, 0));
    for (past, rows) in [(139, 1), (150, 40)] {
        let q = buffer(&context.q[past * 32..][..rows * 32]);
        let y = Guarded::new(rows * 32);
        let shape = AttentionShape {
            heads: 1,
            rows,
            past,
            scale: context.scale,
            window: context.window,
            soft_cap: None,
        };
        for ops in both() {
            run(|encoder| ops.attention(encoder, &cache, table, &q, y.view(), &shape));
            let exact = (past..past + rows).flat_map(|row| context.exact_row(row));
            assert_close(&format!("{shape:?}"), &y.read(), exact);
        }
    }
}

#[test]
fn soft_caps_agree_with_float64() {
    for element in ELEMENTS {
        for (cap, magnitude) in [(50.0, 3.0), (2.0, 3.0), (0.5, 30.0)] {
            let mut context = Context::random(shape(element, 2, 60, 64), 4, magnitude);
            context.soft_cap = Some(cap);
            context.check(&[40, 1, 3, 16]);
            context.window = Some(11);
            context.check(&[40, 1, 3, 16]);
        }
    }
}

/// Sinks far below the scores, among them, and far above: then next to nothing is left of the values.
#[test]
fn sinks_agree_with_float64() {
    for element in ELEMENTS {
        let (step, _) = element.block();
        for head_size in [32, 20].into_iter().filter(|size| size % step == 0) {
            let mut context = Context::random(shape(element, 2, 150, head_size), 4, 2.0);
            context.sinks = vec![-30.0, 0.3, 2.0, 30.0];
            context.check(&[45, 1, 3, 32, 1, 9, 59]);
            context.window = Some(11);
            context.check(&[45, 1, 3, 32, 1, 9, 59]);
        }
    }
}
