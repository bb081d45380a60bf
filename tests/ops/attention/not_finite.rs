//! NaN and infinities in queries, keys, values and sinks.

use super::context::{Context, shape};
use crate::support::{Guarded, both, buffer, device, run};
use metal_bridge::ops::{AttentionShape, KvCache, KvElement, Ops, View};

const ROWS: usize = 12;
const HEADS: usize = 2;
const HEAD_SIZE: usize = 32;

/// What the rows give if the cache is filled with all of them, and `rows_at_once` rows of q make a call.
fn results(ops: &Ops, context: &Context, rows_at_once: usize) -> Vec<f32> {
    let cache = KvCache::new(device(), &context.shape).expect("a cache");
    let [q, k, v] = [&context.q, &context.k, &context.v].map(|values| buffer(values));
    let table = &context.table();
    run(|encoder| ops.kv_append(encoder, &cache, table, &k, &v, ROWS, 0));
    let y = Guarded::new(ROWS * HEADS * HEAD_SIZE);
    let row_bytes = HEADS * HEAD_SIZE * 4;
    run(|encoder| {
        for past in (0..ROWS).step_by(rows_at_once) {
            let shape = AttentionShape {
                heads: HEADS,
                rows: rows_at_once,
                past,
                scale: context.scale,
                window: context.window,
                soft_cap: context.soft_cap,
            };
            let q = View::new(&q, past * row_bytes);
            let y = View::new(y.view().buffer(), y.view().offset() + past * row_bytes);
            match context.sinks.as_slice() {
                [] => ops.attention(encoder, &cache, table, q, y, &shape)?,
                sinks => {
                    let sinks = &buffer(sinks);
                    ops.attention_with_sinks(encoder, &cache, table, q, sinks, y, &shape)?;
                }
            }
        }
        Ok(())
    });
    y.read()
}

fn check(ops: &Ops, what: &str, context: &Context, rows_at_once: usize) {
    let exact = (0..ROWS).flat_map(|row| context.exact_row(row));
    let found = results(ops, context, rows_at_once);
    for (index, (found, (exact, allowed))) in found.iter().zip(exact).enumerate() {
        let found = f64::from(*found);
        let is_right = if exact.is_nan() {
            found.is_nan()
        } else {
            // Matrices may carry a NaN to other rows of a call, but not a wrong number.
            (found - exact).abs() <= allowed || (found.is_nan() && rows_at_once > 1)
        };
        assert!(is_right, "{what}: element {index} is {found}, not {exact}");
    }
}

/// Row by row, and in one call of simdgroup matrices; with sinks and caps, and without.
#[test]
fn results_are_not_finite_where_they_are_in_float64() {
    let elements = [
        (KvElement::F32, false),
        (KvElement::F16, true),
        (KvElement::Q8_0, true),
    ];
    for (element, is_plain) in elements {
        let bound = match element {
            KvElement::F32 => 2f32.powi(96),
            KvElement::F16 => 65504.0,
            KvElement::Q8_0 => 127.0 * 65504.0,
        };
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            for operand in 0..4 {
                let mut context = Context::random(shape(element, 1, ROWS, HEAD_SIZE), HEADS, 1.0);
                if !is_plain {
                    context.soft_cap = Some(5.0);
                    context.sinks = vec![0.5, -0.25];
                }
                // A cache stores the largest number in place of an infinity.
                let stored = match value.is_nan() {
                    true => value,
                    false => value.clamp(-bound, bound),
                };
                match operand {
                    0 => context.q[(7 * HEADS + 1) * HEAD_SIZE + 3] = value,
                    1 => context.k[7 * HEAD_SIZE + 3] = stored,
                    2 => context.v[7 * HEAD_SIZE + 3] = stored,
                    _ if is_plain => continue,
                    _ => context.sinks[1] = value,
                }
                for (ops, rows_at_once) in both().iter().flat_map(|ops| [(ops, 1), (ops, ROWS)]) {
                    let what =
                        format!("{ops:?}, {element:?}, {value} in {operand}, {rows_at_once}");
                    check(ops, &what, &context, rows_at_once);
                }
            }
        }
    }
}
