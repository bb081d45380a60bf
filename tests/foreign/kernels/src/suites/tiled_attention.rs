//! Attention of many queries in tiles, of `scaled_dot_product_attention.metal`.

use bytemuck::{Pod, Zeroable};

use crate::buffers::Arg;
use crate::rig::{File, groups};
use crate::suites::scaled_dot_product_attention::{Rounded, Tensors, bits, case};
use crate::types::Type;

/// The tiled kernels' argument, as they lay it out.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Parameters {
    batches: i32,
    heads: i32,
    width: i32,
    queries: i32,
    keys: i32,
    heads_per_shared: i32,
    scale: f32,
    cap: f32,
    query_blocks: i32,
    key_blocks: i32,
    whole_query_blocks: i32,
    whole_key_blocks: i32,
    queries_left: i32,
    keys_left: i32,
    first_query: i32,
    padding: i32,
    query_strides: [i64; 3],
    key_strides: [i64; 3],
    value_strides: [i64; 3],
    output_strides: [i64; 3],
}

/// What hides keys from a tiled kernel's queries.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mask {
    Nothing,
    /// Keys after the query.
    Causal,
    /// A truth value for each query and key.
    Bits,
    /// A number for each, which is added to the score.
    Numbers,
}

pub fn run(file: &File) {
    for kind in Type::FLOATS {
        for width in [32, 64, 72, 80, 96, 128, 256, 512] {
            // There is no kernel for 512 floats, and the one for 256 takes 53,760 bytes of threadgroup memory, where no
            // Apple GPU has more than 32 KiB.
            if kind == Type::F32 && width >= 256 {
                continue;
            }
            let whole = Tensors {
                kind,
                batches: 1,
                heads: 2,
                shared_heads: 1,
                queries: 32,
                keys: 64,
                width,
                scale: (width as f64).sqrt().recip(),
                cap: 1.0,
            };
            tiled(file, &whole, Mask::Nothing);
        }
        // Other constants take a compilation each.
        let odd = Tensors {
            kind,
            batches: 2,
            heads: 2,
            shared_heads: 2,
            queries: 45,
            keys: 83,
            width: 64,
            scale: 0.125,
            cap: 1.0,
        };
        tiled(file, &odd, Mask::Nothing);
        // Where the queries do not fill their last block, the causal kernels go on to keys behind the last: they read
        // beyond the tensor, and a NaN there is one in the result. The package's host code does not prevent it.
        tiled(file, &Tensors { queries: 64, ..odd }, Mask::Causal);
        tiled(file, &Tensors { width: 32, ..odd }, Mask::Bits);
        tiled(file, &Tensors { width: 80, ..odd }, Mask::Numbers);
    }
}

fn tiled(file: &File, tensors: &Tensors, mask: Mask) {
    let Tensors {
        kind,
        batches,
        heads,
        shared_heads,
        queries,
        keys,
        width,
        scale,
        ..
    } = *tensors;
    let (block, key_block, simdgroups) = match width {
        512 => (8, 8, 1),
        128.. => (32, 16, 4),
        _ => (32, 32, 4),
    };
    let name = match kind {
        Type::F16 => "float16",
        Type::Bf16 => "bfloat16",
        _ => "float32",
    };
    let mask_name = if mask == Mask::Bits { "bool_" } else { name };
    let kernel = format!(
        "steel_attention_{name}_bq{block}_bk{key_block}_bd{width}_wm{simdgroups}_wn1_mask{mask_name}"
    );
    let values = tensors.values(file);
    let [q, k, v] = [&values.q, &values.k, &values.v].map(|v| file.input_at(kind, 8, v));
    let output = file.output(kind, values.q.len());
    let strides = |heads: usize, rows: usize| {
        [heads * rows * width, rows * width, width].map(|stride| stride as i64)
    };
    let parameters = Parameters {
        batches: batches as i32,
        heads: heads as i32,
        width: width as i32,
        queries: queries as i32,
        keys: keys as i32,
        heads_per_shared: (heads / shared_heads) as i32,
        scale: scale as f32,
        cap: 1.0,
        query_blocks: queries.div_ceil(block) as i32,
        key_blocks: keys.div_ceil(key_block) as i32,
        whole_query_blocks: (queries / block) as i32,
        whole_key_blocks: (keys / key_block) as i32,
        queries_left: (queries % block) as i32,
        keys_left: (keys % key_block) as i32,
        first_query: (keys - queries) as i32,
        padding: 0,
        query_strides: strides(heads, queries),
        key_strides: strides(shared_heads, keys),
        value_strides: strides(shared_heads, keys),
        output_strides: strides(heads, queries),
    };
    let positions = batches * heads * queries * keys;
    let (hides, seen) = match mask {
        Mask::Bits => (Type::U8, bits(file, positions)),
        Mask::Numbers => (kind, file.values(kind, 5, positions, -2.0..2.0)),
        Mask::Nothing | Mask::Causal => (Type::U8, Vec::new()),
    };
    let masked = !seen.is_empty();
    let hidden = masked.then(|| file.input(hides, &seen));
    let mask_strides = [heads * queries * keys, queries * keys, keys].map(|stride| stride as i64);
    let mut arguments = vec![Arg::In(&q), Arg::In(&k), Arg::In(&v), Arg::Out(&output)];
    arguments.push(Arg::Bytes(bytemuck::bytes_of(&parameters).to_vec()));
    if let Some(hidden) = &hidden {
        arguments.push(Arg::Bytes(bytemuck::bytes_of(&mask_strides).to_vec()));
        arguments.push(Arg::In(hidden));
    }
    let constants = [
        (200, queries % block == 0),
        (201, keys % key_block == 0),
        (300, masked),
        (301, mask == Mask::Causal),
    ];
    let grid = groups(
        (queries.div_ceil(block), heads, batches),
        (32, simdgroups, 1),
    );
    let launched = file.launch(&kernel, &constants, &arguments, grid);
    let rounded = Rounded {
        queries: kind,
        partial_sums: Type::F32,
    };
    let expected = tensors.reference(&values, rounded, |head, query, key, product| {
        let position = (head * queries + query) * keys + key;
        match mask {
            Mask::Nothing => Some(product),
            Mask::Causal => (key <= query + keys - queries).then_some(product),
            Mask::Bits => (seen[position] != 0.0).then_some(product),
            Mask::Numbers => Some(product + seen[position]),
        }
    });
    let what = format!("{}, {mask:?}", case(tensors, masked));
    file.check(&kernel, &what, launched, &output, &expected);
}
