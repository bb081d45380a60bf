//! Attention over a KV cache against float64: grouped heads, every way a context is filled, adversarial scores.

mod context;
mod not_finite;
mod parts;

use crate::support::{self, Guarded, assert_close, both, buffer, device, ops, refused, run};
use context::{Context, shape};
use half::f16;
use metal_bridge::ops::{AttentionShape, DataType, KvCache, KvElement, KvShape, Tensor, View};
use metal_bridge::{Error, StorageMode};

const ELEMENTS: [KvElement; 3] = [KvElement::F32, KvElement::F16, KvElement::Q8_0];
/// Those that are stored one by one, in heads of any size.
const SINGLE_ELEMENTS: [KvElement; 2] = [KvElement::F32, KvElement::F16];

#[test]
fn one_token_at_a_time_agrees_with_float64() {
    for element in ELEMENTS {
        Context::random(shape(element, 2, 70, 32), 4, 1.0).check(&[1; 70]);
        Context::random(shape(element, 1, 5, 64), 8, 1.0).check(&[1; 5]);
    }
}

#[test]
fn batches_of_all_sizes_agree_with_float64() {
    for element in ELEMENTS {
        for batches in [
            &[1][..],
            &[2],
            &[7],
            &[8],
            &[9],
            &[31, 1],
            &[32, 33],
            &[40, 1, 40],
            &[5, 70],
            &[100],
        ] {
            let capacity = batches.iter().sum();
            Context::random(shape(element, 2, capacity, 64), 4, 1.0).check(batches);
        }
    }
}

#[test]
fn all_head_sizes_agree_with_float64() {
    for element in ELEMENTS {
        let step = element.block().0;
        let sizes = [4, 8, 12, 20, 32, 48, 64, 80, 96, 100, 128, 132, 192, 256];
        for head_size in sizes.into_iter().filter(|size| size % step == 0) {
            Context::random(shape(element, 1, 41, head_size), 2, 1.0).check(&[1, 7, 24, 9]);
        }
    }
}

#[test]
fn heads_of_a_group_share_keys_and_values() {
    for (kv_heads, heads) in [(1, 1), (1, 7), (3, 6), (4, 32), (8, 8)] {
        Context::random(shape(KvElement::F32, kv_heads, 20, 16), heads, 1.0).check(&[3, 12, 1, 4]);
    }
}

#[test]
fn long_contexts_agree_with_float64() {
    for element in ELEMENTS {
        Context::random(shape(element, 1, 1100, 64), 2, 1.0).check(&[1000, 1, 3, 90]);
    }
}

/// Scores of hundreds: one key takes all the weight, exponentials of the others vanish.
#[test]
fn a_steep_softmax_agrees_with_float64() {
    for element in ELEMENTS {
        Context::random(shape(element, 1, 150, 64), 2, 30.0).check(&[140, 1, 9]);
    }
}

/// Scores that only rise, so that every block of keys corrects all that came before; and that only fall.
#[test]
fn rising_and_falling_scores_agree_with_float64() {
    for sign in [1.0, -1.0] {
        let mut context = Context::random(shape(KvElement::F32, 1, 1200, 32), 1, 1.0);
        context.q.fill(1.0);
        for (key, row) in context.k.chunks_mut(32).enumerate() {
            row.fill(sign * key as f32 / 8.0);
        }
        context.check(&[1190, 1, 9]);
    }
}

/// What is not finite in one position leaves the rows alone that do not see it.
#[test]
fn infinities_stay_in_their_positions() {
    for element in ELEMENTS {
        let mut context = Context::random(shape(element, 1, 24, 32), 1, 1.0);
        context.v[20 * 32..21 * 32].fill(f32::INFINITY);
        context.k[20 * 32..21 * 32].fill(f32::INFINITY);
        let cache = KvCache::new(device(), &context.shape).expect("a cache");
        let (q, k, v) = (buffer(&context.q), buffer(&context.k), buffer(&context.v));
        let (table, y) = (context.table(), Guarded::new(24 * 32));
        let all = AttentionShape {
            heads: 1,
            rows: 24,
            past: 0,
            scale: context.scale,
            window: None,
            soft_cap: None,
        };
        for ops in both() {
            run(|encoder| {
                ops.kv_append(encoder, &cache, &table, &k, &v, 24, 0)?;
                ops.attention(encoder, &cache, &table, &q, y.view(), &all)
            });
            let exact = (0..20).flat_map(|row| context.exact_row(row));
            assert_close(&format!("{element:?}"), &y.read()[..20 * 32], exact);
        }
    }
}

/// Equal scores give the mean of the values.
#[test]
fn equal_scores_give_the_mean_of_the_values() {
    let mut context = Context::random(shape(KvElement::F32, 2, 130, 16), 2, 1.0);
    context.q.fill(0.0);
    context.check(&[1, 120, 9]);
}

/// A page is laid out [head, position, element]. Positions that were not appended stay as they are, and so does everything if a
/// table names a page that the cache does not have.
#[test]
fn append_writes_its_rows_only() {
    const LENGTH: usize = 70;
    for element in SINGLE_ELEMENTS {
        let context = Context::random(shape(element, 3, LENGTH, 8), 3, 1.0);
        let pages = context.shape.pages;
        let cache = KvCache::new(device(), &context.shape).expect("a cache");
        let bytes = context.shape.bytes().expect("bytes");
        assert_eq!(cache.page_bytes() * pages, bytes);
        let queue = device().new_command_queue().expect("a queue");
        let mut commands = queue.command_buffer().expect("a command buffer");
        let mut blit = commands.blit_command_encoder().expect("an encoder");
        for view in [cache.keys(), cache.values()] {
            let filled = blit.fill(view.buffer(), 0..bytes, 0x11);
            filled.expect("fills");
        }
        drop(blit);
        let committed = commands.commit().expect("commits");
        committed.wait().expect("completes");
        let (k, v) = (buffer(&context.k), buffer(&context.v));
        // The second page is none of the cache.
        let table = buffer(&[2u32, pages as u32, 0]);
        let (past, rows) = (4, 63);
        let from = past * 3 * 8 * 4;
        run(|encoder| {
            let (k, v) = (View::new(&k, from), View::new(&v, from));
            ops().kv_append(encoder, &cache, &table, k, v, rows, past)
        });
        for (view, values) in [(cache.keys(), &context.k), (cache.values(), &context.v)] {
            let copy = device()
                .new_buffer(bytes, StorageMode::Shared)
                .expect("a buffer");
            let all = |view| Tensor::new(view, DataType::U8, &[bytes]).expect("a tensor");
            run(|encoder| ops().convert(encoder, all(view), all(View::from(&copy))));
            let stored = copy.wait_read::<u8>().expect("readable");
            let (_, element_bytes) = element.block();
            for (index, chunk) in stored.chunks(element_bytes).enumerate() {
                let (page, head, element_index) = (index / 768, index / 256 % 3, index % 8);
                let first = match page {
                    2 => Some(0),
                    0 => Some(64),
                    _ => None,
                };
                let position = first.map(|first| first + index / 8 % 32);
                let position = position.filter(|position| (past..past + rows).contains(position));
                let expected = match (position, element) {
                    (None, _) => vec![0x11; element_bytes],
                    (Some(position), element) => {
                        let value = values[(position * 3 + head) * 8 + element_index];
                        match element {
                            KvElement::F16 => f16::from_f32(value).to_le_bytes().to_vec(),
                            _ => value.to_le_bytes().to_vec(),
                        }
                    }
                };
                assert_eq!(
                    chunk, expected,
                    "{element:?}: page {page}, head {head}, position {position:?}, element {element_index}"
                );
            }
        }
    }
}

/// Two texts have one page of a cache in common.
#[test]
fn texts_share_pages() {
    let context = Context::random(shape(KvElement::F32, 2, 50, 32), 4, 1.0);
    let other = Context::random(shape(KvElement::F32, 2, 60, 32), 4, 1.0);
    let cache = KvCache::new(device(), &context.shape).expect("a cache");
    let [k, v, other_k, other_v] =
        [&context.k, &context.v, &other.k, &other.v].map(|values| buffer(values));
    let tables = buffer(&[1u32, 0, 1, 2]);
    let (table, other_table) = (View::new(&tables, 0), View::new(&tables, 8));
    let row = |buffer, row: usize| View::new(buffer, row * 2 * 32 * 4);
    let mut joint = Context::random(shape(KvElement::F32, 2, 60, 32), 4, 1.0);
    let shared = ..32 * 2 * 32;
    joint.k[shared].copy_from_slice(&context.k[shared]);
    joint.v[shared].copy_from_slice(&context.v[shared]);
    run(|encoder| {
        ops().kv_append(encoder, &cache, table, &k, &v, 50, 0)?;
        let (k, v) = (row(&other_k, 32), row(&other_v, 32));
        ops().kv_append(encoder, &cache, other_table, k, v, 28, 32)
    });
    for (context, table, length) in [(&context, table, 50), (&joint, other_table, 60)] {
        for rows in [1, 18] {
            let past = length - rows;
            let q = buffer(&context.q[past * 4 * 32..]);
            let y = Guarded::new(rows * 4 * 32);
            let shape = AttentionShape {
                heads: 4,
                rows,
                past,
                scale: context.scale,
                window: None,
                soft_cap: None,
            };
            for ops in both() {
                run(|encoder| ops.attention(encoder, &cache, table, &q, y.view(), &shape));
                let exact = (past..length).flat_map(|row| context.exact_row(row));
                let what = format!("{length} positions, {rows} rows");
                assert_close(&what, &y.read(), exact);
            }
        }
    }
}

#[test]
fn bad_shapes_are_refused() {
    let good = KvShape {
        element: KvElement::F16,
        kv_heads: 2,
        pages: 2,
        head_size: 16,
    };
    for bad in [
        KvShape {
            kv_heads: 0,
            ..good
        },
        KvShape { pages: 0, ..good },
        KvShape {
            element: KvElement::Q8_0,
            head_size: 48,
            ..good
        },
        KvShape {
            head_size: 6,
            ..good
        },
        KvShape {
            head_size: 260,
            ..good
        },
    ] {
        let error = KvCache::new(device(), &bad).unwrap_err();
        assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
    }
    let error = KvShape {
        pages: u32::MAX as usize,
        kv_heads: u32::MAX as usize,
        ..good
    }
    .bytes()
    .unwrap_err();
    assert!(matches!(error, Error::OutOfRange(_)), "{error}");

    let cache = KvCache::new(device(), &good).expect("a cache");
    let (x, y) = (buffer(&[0.0f32; 512]), buffer(&[0.0f32; 512]));
    let tables = buffer(&[0u32, 1, 0, 0]);
    let table = View::from(&tables);
    let append = |table, rows, past| {
        refused(|encoder| ops().kv_append(encoder, &cache, table, &x, &y, rows, past))
    };
    assert!(matches!(append(table, 65, 0), Error::OutOfRange(_)));
    assert!(matches!(append(table, 1, 64), Error::OutOfRange(_)));
    assert!(matches!(append(table, 2, usize::MAX), Error::OutOfRange(_)));
    // The table's second page lies behind its buffer.
    let short = View::new(&tables, 12);
    assert!(matches!(append(short, 1, 32), Error::OutOfRange(_)));
    assert!(matches!(
        append(View::new(&tables, 2), 1, 0),
        Error::Misaligned(_)
    ));
    let shape = AttentionShape {
        heads: 4,
        rows: 2,
        past: 0,
        scale: 0.25,
        window: None,
        soft_cap: None,
    };
    let attend = |shape: AttentionShape| {
        refused(|encoder| ops().attention(encoder, &cache, table, &x, &y, &shape))
    };
    assert!(matches!(
        attend(AttentionShape { heads: 3, ..shape }),
        Error::InvalidArgument(_)
    ));
    assert!(matches!(
        attend(AttentionShape { heads: 0, ..shape }),
        Error::InvalidArgument(_)
    ));
    assert!(matches!(
        attend(AttentionShape {
            scale: f32::NAN,
            ..shape
        }),
        Error::InvalidArgument(_)
    ));
    for (window, soft_cap) in [
        (Some(0), None),
        (None, Some(0.0)),
        (None, Some(f32::INFINITY)),
    ] {
        let error = attend(AttentionShape {
            window,
            soft_cap,
            ..shape
        });
        assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
    }
    assert!(matches!(
        attend(AttentionShape { past: 63, ..shape }),
        Error::OutOfRange(_)
    ));
    assert!(matches!(
        attend(AttentionShape {
            heads: 32,
            rows: 2,
            ..shape
        }),
        Error::OutOfRange(_)
    ));
    let error =
        refused(|encoder| ops().attention(encoder, &cache, table, &x, View::new(&y, 4), &shape));
    assert!(matches!(error, Error::Misaligned(_)), "{error}");
}

/// GPUs older than Apple's seventh family have no simdgroup matrices.
#[test]
fn kernels_without_matrices_agree_with_float64() {
    support::again_without_matrices("attention::all_head_sizes_agree_with_float64");
}
