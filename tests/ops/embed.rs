//! Embedding rows of every weight format.

use crate::support::{EPSILON, Guarded, assert_close, buffer, matrix, ops, refused, rng, run};
use metal_bridge::Error;
use metal_bridge::ops::WeightType;

#[test]
fn each_id_gives_its_row() {
    let mut rng = rng(20);
    for kind in WeightType::ALL {
        for columns in [32, 96, 256, 1024] {
            if columns % kind.block_elements() != 0 {
                continue;
            }
            let table = matrix(&mut rng, kind, 11, columns, 2.0, 36);
            let ids = [10u32, 0, 3, 3, 7];
            let y = Guarded::new(ids.len() * columns);
            let ids_buffer = buffer(&ids);
            run(|encoder| ops().embed(encoder, &table.weight, &ids_buffer, y.view(), ids.len()));
            // Rounded once: what single precision gives in any order of its operations, since the products are exact.
            let exact = ids
                .iter()
                .flat_map(|id| table.row(*id as usize))
                .map(|value| (f64::from(*value as f32), 0.0));
            assert_close(&format!("{kind:?}, {columns} columns"), &y.read(), exact);
        }
    }
}

#[test]
fn columns_that_fill_no_chunk_are_exact() {
    let mut rng = rng(21);
    for kind in [WeightType::F32, WeightType::F16] {
        for columns in [1, 5, 16, 19, 31] {
            let table = matrix(&mut rng, kind, 4, columns, 1.0, 4);
            let y = Guarded::new(2 * columns);
            let ids = buffer(&[3u32, 1]);
            run(|encoder| ops().embed(encoder, &table.weight, &ids, y.view(), 2));
            let exact = table
                .row(3)
                .iter()
                .chain(table.row(1))
                .map(|value| (*value, 0.0));
            assert_close(&format!("{kind:?}, {columns} columns"), &y.read(), exact);
        }
    }
}

#[test]
fn rows_may_be_scaled() {
    let mut rng = rng(24);
    for (kind, columns) in [(WeightType::F32, 19), (WeightType::Q8_0, 96)] {
        let table = matrix(&mut rng, kind, 4, columns, 1.0, 4);
        let y = Guarded::new(2 * columns);
        let (ids, scale) = (buffer(&[3u32, 1]), 5.7f32);
        run(|encoder| ops().embed_scaled(encoder, &table.weight, &ids, y.view(), 2, scale));
        let rows = table.row(3).iter().chain(table.row(1));
        let exact = rows.map(|value| {
            let exact = value * f64::from(scale);
            (exact, exact.abs() * 2.0 * EPSILON)
        });
        assert_close(&format!("{kind:?}"), &y.read(), exact);
        let error = refused(|encoder| {
            ops().embed_scaled(encoder, &table.weight, &ids, y.view(), 2, f32::NAN)
        });
        assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
    }
}

#[test]
fn ids_past_the_table_stay_inside_it() {
    let table = matrix(&mut rng(22), WeightType::Q8_0, 3, 64, 1.0, 0);
    let y = Guarded::new(2 * 64);
    let ids = buffer(&[3u32, u32::MAX]);
    run(|encoder| ops().embed(encoder, &table.weight, &ids, y.view(), 2));
    let exact = table
        .row(2)
        .iter()
        .chain(table.row(2))
        .map(|value| (*value, value.abs() * EPSILON));
    assert_close("the last row", &y.read(), exact);
}

#[test]
fn missing_ids_and_short_outputs_are_refused() {
    let table = matrix(&mut rng(23), WeightType::F16, 3, 8, 1.0, 0);
    let (ids, y) = (buffer(&[0u32; 2]), buffer(&[0.0f32; 16]));
    let error = refused(|encoder| ops().embed(encoder, &table.weight, &ids, &y, 3));
    assert!(
        matches!(error, Error::OutOfRange(_)) && error.to_string().contains("ids takes 12"),
        "{error}"
    );
    let error = refused(|encoder| ops().embed(encoder, &table.weight, &ids, &y, usize::MAX));
    assert!(matches!(error, Error::OutOfRange(_)), "{error}");
    let small = buffer(&[0.0f32; 15]);
    let error = refused(|encoder| ops().embed(encoder, &table.weight, &ids, &small, 2));
    assert!(matches!(error, Error::OutOfRange(_)), "{error}");
}
