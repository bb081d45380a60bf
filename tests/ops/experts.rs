//! Mixtures of experts against float64: the choice, products with the chosen matrices, and the sum.

use crate::support::{
    EPSILON, Guarded, assert_close, both, buffer, matrix, ops, refused, rng, run, uniform,
};
use metal_bridge::Error;
use metal_bridge::ops::{Epilogue, ExpertShape, View, WeightType};

/// The numbers of the largest logits, and the softmax of these.
fn reference(logits: &[f32], used: usize) -> (Vec<u32>, Vec<f64>) {
    let mut order: Vec<usize> = (0..logits.len()).collect();
    order.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]).then(a.cmp(&b)));
    order.truncate(used);
    let largest = f64::from(logits[order[0]]);
    let weight = |&expert: &usize| (f64::from(logits[expert]) - largest).exp();
    let sum: f64 = order.iter().map(weight).sum();
    let shares = order.iter().map(|expert| weight(expert) / sum).collect();
    (order.iter().map(|&expert| expert as u32).collect(), shares)
}

#[test]
fn the_largest_logits_are_chosen() {
    for (experts, used, rows) in [(1, 1, 3), (5, 2, 4), (8, 8, 2), (32, 4, 3), (130, 9, 7)] {
        let shape = ExpertShape { experts, used };
        let mut logits: Vec<f32> = uniform(&mut rng(experts as u64), rows * experts)
            .iter()
            .map(|value| value * 4.0)
            .collect();
        // The first row has equal logits only, the last one some.
        logits[..experts].fill(0.5);
        let last = logits.len() - experts;
        for pair in logits[last..].chunks_mut(2) {
            pair.fill(pair[0]);
        }
        let (chosen, shares) = (Guarded::new(rows * used), Guarded::new(rows * used));
        let logits_buffer = buffer(&logits);
        run(|encoder| {
            let (chosen, shares) = (chosen.view(), shares.view());
            ops().choose_experts(encoder, &logits_buffer, chosen, shares, rows, &shape)
        });
        let all = logits.chunks(experts).map(|row| reference(row, used));
        let (numbers, exact): (Vec<_>, Vec<_>) = all.unzip();
        assert_eq!(chosen.read::<u32>(), numbers.concat(), "{shape:?}");
        let exact = exact.concat().into_iter();
        let exact = exact.map(|share| (share, share * 64.0 * EPSILON));
        assert_close(&format!("{shape:?}"), &shares.read(), exact);
    }
}

/// Whatever the logits are, the numbers are those of different experts. The shares are what float64 gives of the chosen logits,
/// but a NaN makes NaN of all shares of its row, even if its expert is not chosen.
#[test]
fn logits_that_are_not_finite_choose_different_experts() {
    let shape = ExpertShape {
        experts: 40,
        used: 3,
    };
    let mut rows = Vec::new();
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        rows.push([value; 40]);
        for expert in [0, 7, 39] {
            let mut row: [f32; 40] = std::array::from_fn(|other| (other * 11 % 40) as f32 / 20.0);
            row[expert] = value;
            rows.push(row);
        }
    }
    let mut two_numbers = [f32::NEG_INFINITY; 40];
    (two_numbers[5], two_numbers[33]) = (f32::MIN, f32::MIN);
    rows.push(two_numbers);
    let logits = buffer(&rows.concat());
    let count = rows.len() * 3;
    let (chosen, shares) = (Guarded::new(count), Guarded::new(count));
    run(|encoder| {
        let (chosen, shares) = (chosen.view(), shares.view());
        ops().choose_experts(encoder, &logits, chosen, shares, rows.len(), &shape)
    });
    let (chosen, shares) = (chosen.read::<u32>(), shares.read::<f32>());
    let results = chosen.chunks(3).zip(shares.chunks(3));
    for (logits, (chosen, shares)) in rows.iter().zip(results) {
        let what = format!("{logits:?}: {chosen:?}, {shares:?}");
        if logits.iter().any(|logit| logit.is_nan()) {
            let is_different =
                chosen[0] != chosen[1] && chosen[1] != chosen[2] && chosen[0] != chosen[2];
            assert!(
                is_different && chosen.iter().all(|&expert| expert < 40),
                "{what}"
            );
            assert!(shares.iter().all(|share| share.is_nan()), "{what}");
            continue;
        }
        let (numbers, exact) = reference(logits, 3);
        assert_eq!(chosen, numbers, "{what}");
        for (&share, exact) in shares.iter().zip(exact) {
            let is_right = if exact.is_nan() {
                share.is_nan()
            } else {
                (f64::from(share) - exact).abs() < 1e-6
            };
            assert!(is_right, "{what}: {exact} is right");
        }
    }
}

/// Both ways in which a device may run lanes; x of its own for each slot, and one x for all slots of a row.
#[test]
fn products_take_the_chosen_matrices() {
    let mut rng = rng(50);
    let (shape, n, k, rows) = (
        ExpertShape {
            experts: 5,
            used: 2,
        },
        37,
        96,
        6,
    );
    let products = rows * shape.used;
    let chosen: Vec<u32> = (0..products).map(|index| (index * 7 % 5) as u32).collect();
    let chosen_buffer = buffer(&chosen);
    for kind in [WeightType::F32, WeightType::Q8_0] {
        let w = matrix(&mut rng, kind, shape.experts * n, k, 1.0, 32);
        let bias = uniform(&mut rng, shape.experts * n);
        let bias_buffer = buffer(&bias);
        for (is_shared, has_bias) in [(true, false), (false, true), (false, false)] {
            let x_rows = if is_shared { rows } else { products };
            let x = uniform(&mut rng, x_rows * k);
            let x_buffer = buffer(&x);
            let epilogue = Epilogue {
                bias: has_bias.then(|| View::from(&bias_buffer)),
                ..Epilogue::default()
            };
            let exact: Vec<(f64, f64)> = (0..products * n)
                .map(|index| {
                    let (product, column) = (index / n, index % n);
                    let row = chosen[product] as usize * n + column;
                    let x_row = if is_shared {
                        product / shape.used
                    } else {
                        product
                    };
                    let start = if has_bias { f64::from(bias[row]) } else { 0.0 };
                    let terms = w.row(row).iter().zip(&x[x_row * k..][..k]);
                    let (sum, magnitude) = terms
                        .map(|(w, x)| w * f64::from(*x))
                        .fold((start, start.abs()), |(sum, size), term| {
                            (sum + term, size + term.abs())
                        });
                    (sum, magnitude * (8.0 + 2.0 * (k as f64).sqrt()) * EPSILON)
                })
                .collect();
            for ops in both() {
                let y = Guarded::new(products * n);
                run(|encoder| {
                    ops.linear_chosen(
                        encoder,
                        &w.weight,
                        &chosen_buffer,
                        &x_buffer,
                        is_shared,
                        y.view(),
                        rows,
                        &shape,
                        &epilogue,
                    )
                });
                let what = format!("{kind:?}, {is_shared}, {has_bias}");
                assert_close(&what, &y.read(), exact.iter().copied());
            }
        }
    }
}

#[test]
fn shares_of_what_experts_give_are_added() {
    for (rows, used, columns) in [(1, 1, 1), (3, 2, 70), (2, 8, 33)] {
        let mut rng = rng(columns as u64);
        let (x, shares, start) = (
            uniform(&mut rng, rows * used * columns),
            uniform(&mut rng, rows * used),
            uniform(&mut rng, rows * columns),
        );
        let (y, scale) = (Guarded::holding(&start), 0.3f32);
        let (x_buffer, shares_buffer) = (buffer(&x), buffer(&shares));
        run(|encoder| {
            let y = y.view();
            ops().mix_experts(
                encoder,
                &x_buffer,
                &shares_buffer,
                y,
                rows,
                used,
                columns,
                scale,
            )
        });
        let exact = (0..rows * columns).map(|index| {
            let (row, column) = (index / columns, index % columns);
            let terms = (row * used..(row + 1) * used)
                .map(|slot| f64::from(shares[slot]) * f64::from(x[slot * columns + column]));
            let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), term: f64| {
                (sum + term, size + term.abs())
            });
            let (scale, start) = (f64::from(scale), f64::from(start[index]));
            (start + scale * sum, (size + start.abs()) * 16.0 * EPSILON)
        });
        assert_close(&format!("{rows}, {used}, {columns}"), &y.read(), exact);
    }
}

#[test]
fn experts_that_cannot_be_are_refused() {
    let some = buffer(&[0.0f32; 64]);
    let [a, b, c] = [0, 64, 128].map(|offset| View::new(&some, offset));
    for (experts, used) in [(4, 0), (4, 5), (0, 0)] {
        let shape = ExpertShape { experts, used };
        let error = refused(|encoder| ops().choose_experts(encoder, a, b, c, 1, &shape));
        assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
    }
    let shape = ExpertShape {
        experts: 4,
        used: 2,
    };
    let error = refused(|encoder| ops().choose_experts(encoder, a, b, c, 65, &shape));
    assert!(matches!(error, Error::OutOfRange(_)), "{error}");
    let weight = matrix(&mut rng(51), WeightType::F32, 6, 4, 1.0, 0).weight;
    let epilogue = Epilogue::default();
    let error = refused(|encoder| {
        ops().linear_chosen(encoder, &weight, a, b, true, c, 1, &shape, &epilogue)
    });
    let expected = "6 rows of weights do not divide evenly among 4 experts";
    assert!(error.to_string().contains(expected), "{error}");
    let error = refused(|encoder| ops().mix_experts(encoder, a, b, c, 1, 2, 4, f32::NAN));
    assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
}
