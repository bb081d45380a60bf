//! Graphs of one operation.

use metal_bridge::mps::*;
use metal_bridge_test_support::device;

use crate::support::*;

fn elements(count: usize, data_type: DataType, offset: usize, seed: u64) -> Elements {
    let strided = Strided {
        offset,
        ..Strided::packed(1, 1, count)
    };
    Elements::random(strided, data_type, seed)
}

/// Four sizes in the order of the layout.
fn ordered(layout: Layout, [n, c, h, w]: [usize; 4]) -> [usize; 4] {
    match layout {
        Layout::Nchw => [n, c, h, w],
        Layout::Nhwc => [n, h, w, c],
    }
}

/// Where the element at these indices lies in an array of these sizes.
fn index(sizes: [usize; 4], at: [usize; 4]) -> usize {
    sizes
        .iter()
        .zip(at)
        .fold(0, |index, (size, at)| index * size + at)
}

fn check_convolution(of: &Convolution2dDescriptor, offset: usize) {
    let size = |i: usize| {
        let padded = of.input_size[i] + of.padding_before[i] + of.padding_after[i];
        (padded - of.dilation[i] * (of.kernel_size[i] - 1) - 1) / of.stride[i] + 1
    };
    let (height, width) = (size(0), size(1));
    let group_inputs = of.input_channels / of.groups;
    let [kernel_height, kernel_width] = of.kernel_size;
    let ordered_weights = |[o, i, y, x]: [usize; 4]| match of.weights_layout {
        WeightsLayout::Oihw => [o, i, y, x],
        WeightsLayout::Hwio => [y, x, i, o],
    };
    let input_shape = [
        of.batch,
        of.input_channels,
        of.input_size[0],
        of.input_size[1],
    ];
    let input_shape = ordered(of.layout, input_shape);
    let weights_shape = [
        of.output_channels,
        group_inputs,
        kernel_height,
        kernel_width,
    ];
    let weights_shape = ordered_weights(weights_shape);
    let result_shape = ordered(of.layout, [of.batch, of.output_channels, height, width]);

    let input = elements(input_shape.iter().product(), of.data_type, offset, 1);
    let weights = elements(weights_shape.iter().product(), of.data_type, offset, 2);
    let bias = elements(of.output_channels, of.data_type, offset, 3);
    let result = elements(result_shape.iter().product(), of.data_type, offset, 4);
    let kernel = Convolution2d::new(device(), of).unwrap();
    let bias_array = of.has_bias.then(|| bias.array(&[of.output_channels]));
    run(|commands| {
        kernel.encode(
            commands,
            &input.array(&input_shape),
            &weights.array(&weights_shape),
            bias_array.as_ref(),
            &result.array(&result_shape),
        )
    });

    let sum = |n: usize, o: usize, y: usize, x: usize| {
        let first = o / (of.output_channels / of.groups) * group_inputs;
        let start = if of.has_bias { bias.values[o] } else { 0.0 };
        let mut of_products = (start, start.abs());
        for i in 0..group_inputs {
            for ky in 0..kernel_height {
                for kx in 0..kernel_width {
                    let row =
                        (y * of.stride[0] + ky * of.dilation[0]).checked_sub(of.padding_before[0]);
                    let column =
                        (x * of.stride[1] + kx * of.dilation[1]).checked_sub(of.padding_before[1]);
                    let (Some(row), Some(column)) = (row, column) else {
                        continue;
                    };
                    if row >= of.input_size[0] || column >= of.input_size[1] {
                        continue;
                    }
                    let at = index(input_shape, ordered(of.layout, [n, first + i, row, column]));
                    let weight = index(weights_shape, ordered_weights([o, i, ky, kx]));
                    let product = input.values[at] * weights.values[weight];
                    of_products = (of_products.0 + product, of_products.1 + product.abs());
                }
            }
        }
        of_products
    };
    let mut exact = vec![(0.0, 0.0); result_shape.iter().product()];
    for n in 0..of.batch {
        for o in 0..of.output_channels {
            for y in 0..height {
                for x in 0..width {
                    let (sum, magnitude) = sum(n, o, y, x);
                    let terms = group_inputs * kernel_height * kernel_width;
                    exact[index(result_shape, ordered(of.layout, [n, o, y, x]))] =
                        (sum, sum_bound(of.data_type, terms, magnitude));
                }
            }
        }
    }
    result.assert_close(&format!("{of:?}"), exact);
}

#[test]
fn convolutions() {
    for data_type in ARRAY_FLOATS {
        let plain = Convolution2dDescriptor::new(data_type, 4, 6, [11, 9], [3, 3]);
        let cases = [
            Convolution2dDescriptor::new(data_type, 1, 1, [1, 1], [1, 1]),
            plain,
            Convolution2dDescriptor {
                batch: 3,
                padding_before: [1, 1],
                padding_after: [1, 1],
                ..plain
            },
            Convolution2dDescriptor {
                stride: [2, 3],
                kernel_size: [2, 4],
                ..plain
            },
            Convolution2dDescriptor {
                dilation: [2, 3],
                padding_before: [0, 2],
                padding_after: [3, 1],
                ..plain
            },
            Convolution2dDescriptor {
                groups: 2,
                has_bias: true,
                batch: 2,
                ..plain
            },
            Convolution2dDescriptor {
                groups: 4,
                output_channels: 4,
                kernel_size: [5, 1],
                ..plain
            },
            Convolution2dDescriptor {
                has_bias: true,
                stride: [3, 1],
                padding_before: [2, 0],
                ..plain
            },
        ];
        for (case, descriptor) in cases.into_iter().enumerate() {
            for layout in [Layout::Nchw, Layout::Nhwc] {
                for weights_layout in [WeightsLayout::Oihw, WeightsLayout::Hwio] {
                    let offset = if case % 2 == 0 { 0 } else { 8 };
                    check_convolution(
                        &Convolution2dDescriptor {
                            layout,
                            weights_layout,
                            ..descriptor
                        },
                        offset,
                    );
                }
            }
        }
    }
}

#[test]
fn batch_normalizations() {
    let (batch, channels, size) = (2, 5, [3, 7]);
    for case in 0..24 {
        let data_type = ARRAY_FLOATS[case >> 3];
        let layout = [Layout::Nchw, Layout::Nhwc][case & 1];
        let (has_gamma, has_beta) = (case & 2 != 0, case & 4 != 0);
        let offset = if has_gamma { 4 } else { 0 };
        let descriptor = BatchNormalizationDescriptor {
            data_type,
            layout,
            batch,
            channels,
            size,
            epsilon: 1e-3,
            has_gamma,
            has_beta,
        };
        let shape = ordered(layout, [batch, channels, size[0], size[1]]);
        let mut input = elements(shape.iter().product(), data_type, offset, 1);
        let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0];
        input.values[..4].copy_from_slice(&special);
        let input = Elements::new(input.strided, data_type, &input.values);
        let result = elements(shape.iter().product(), data_type, offset, 2);
        let mean = elements(channels, data_type, offset, 3);
        let variances: Vec<f64> = (0..channels).map(|c| 0.25 + c as f64).collect();
        let variance = Elements::new(mean.strided, data_type, &variances);
        let gamma = elements(channels, data_type, offset, 4);
        let beta = elements(channels, data_type, offset, 5);
        let kernel = BatchNormalization::new(device(), &descriptor).unwrap();
        let of_channels = |elements: &Elements| elements.array(&[channels]);
        let (gamma_array, beta_array) = (of_channels(&gamma), of_channels(&beta));
        run(|commands| {
            let parameters = ChannelParameters {
                mean: &of_channels(&mean),
                variance: &of_channels(&variance),
                gamma: has_gamma.then_some(&gamma_array),
                beta: has_beta.then_some(&beta_array),
            };
            kernel.encode(
                commands,
                &input.array(&shape),
                &parameters,
                &result.array(&shape),
            )
        });
        let exact = input.values.iter().enumerate().map(|(i, value)| {
            let c = match layout {
                Layout::Nchw => i / (size[0] * size[1]) % channels,
                Layout::Nhwc => i % channels,
            };
            let factor = if has_gamma { gamma.values[c] } else { 1.0 };
            let factor = factor / (variance.values[c] + 1e-3).sqrt();
            let addend = if has_beta { beta.values[c] } else { 0.0 };
            let magnitude = (value.abs() + mean.values[c].abs()) * factor.abs() + addend.abs();
            // Metal may keep each step in the elements' type.
            let bound = 6.0 * rounding(data_type) * magnitude + sum_bound(data_type, 2, magnitude);
            ((value - mean.values[c]) * factor + addend, bound)
        });
        result.assert_close(&format!("{descriptor:?}"), exact);
    }
}

#[test]
fn attentions() {
    let none = ScaledDotProductAttentionDescriptor {
        data_type: DataType::Float32,
        batch: 2,
        query_heads: 4,
        key_heads: 4,
        queries: 5,
        keys: 9,
        head_size: 8,
        value_size: 6,
        scale: 0.35,
        mask: None,
    };
    for data_type in ARRAY_FLOATS {
        let plain = ScaledDotProductAttentionDescriptor { data_type, ..none };
        for (case, of) in [
            plain,
            ScaledDotProductAttentionDescriptor {
                key_heads: 2,
                queries: 1,
                ..plain
            },
            ScaledDotProductAttentionDescriptor {
                mask: Some([1, 1]),
                ..plain
            },
            ScaledDotProductAttentionDescriptor {
                mask: Some([2, 4]),
                key_heads: 1,
                ..plain
            },
            ScaledDotProductAttentionDescriptor {
                mask: Some([2, 1]),
                batch: 2,
                keys: 1,
                ..plain
            },
        ]
        .into_iter()
        .enumerate()
        {
            check_attention(&of, if case % 2 == 0 { 0 } else { 4 });
        }
    }
}

fn check_attention(of: &ScaledDotProductAttentionDescriptor, offset: usize) {
    let data_type = of.data_type;
    let query_shape = [of.batch, of.query_heads, of.queries, of.head_size];
    let key_shape = [of.batch, of.key_heads, of.keys, of.head_size];
    let value_shape = [of.batch, of.key_heads, of.keys, of.value_size];
    let [mask_batch, mask_heads] = of.mask.unwrap_or([1, 1]);
    let mask_shape = [mask_batch, mask_heads, of.queries, of.keys];
    let result_shape = [of.batch, of.query_heads, of.queries, of.value_size];
    let make = |shape: &[usize; 4], seed| elements(shape.iter().product(), data_type, offset, seed);
    let (query, key, value) = (
        make(&query_shape, 1),
        make(&key_shape, 2),
        make(&value_shape, 3),
    );
    let (mask, result) = (make(&mask_shape, 4), make(&result_shape, 5));
    let kernel = ScaledDotProductAttention::new(device(), of).unwrap();
    let mask_array = of.mask.map(|_| mask.array(&mask_shape));
    run(|commands| {
        kernel.encode(
            commands,
            &query.array(&query_shape),
            &key.array(&key_shape),
            &value.array(&value_shape),
            mask_array.as_ref(),
            &result.array(&result_shape),
        )
    });
    let mut exact = Vec::new();
    for n in 0..of.batch {
        for h in 0..of.query_heads {
            let key_head = h / (of.query_heads / of.key_heads);
            for q in 0..of.queries {
                let scores = (0..of.keys).map(|k| {
                    let product = |i| {
                        query.values[index(query_shape, [n, h, q, i])]
                            * key.values[index(key_shape, [n, key_head, k, i])]
                    };
                    let score = of.scale * (0..of.head_size).map(product).sum::<f64>();
                    let at = [n.min(mask_batch - 1), h.min(mask_heads - 1), q, k];
                    score + of.mask.map_or(0.0, |_| mask.values[index(mask_shape, at)])
                });
                let weights: Vec<f64> = scores.map(f64::exp).collect();
                let sum: f64 = weights.iter().sum();
                for i in 0..of.value_size {
                    let values = weights.iter().enumerate().map(|(k, weight)| {
                        weight / sum * value.values[index(value_shape, [n, key_head, k, i])]
                    });
                    // Scores of at most 5, which Metal may keep in the elements' type.
                    let bound = 24.0 * rounding(data_type) + sum_bound(data_type, of.keys, 1.0);
                    exact.push((values.sum(), bound));
                }
            }
        }
    }
    result.assert_close(&format!("{of:?}"), exact);
}
