//! Every operation, on tensors whose elements are far from each other, does bit for bit what it does on tensors that have the
//! same form and lie close together. `counts.rs` makes sure that no operation is left out.

use metal_bridge::Buffer;
use metal_bridge::ops::{DataType, Ops, Tensor, View};
use metal_bridge::{ComputeEncoder, Result};

use super::calls::CALLS;
use super::engine::{ENGINE, cache};
use super::layers::LAYERS;
use super::products::PRODUCTS;
use super::{element, over, put, sparse, with_large_buffers};
use crate::support::ops;
use crate::support::run;
use crate::tensor::layouts::offsets;
use crate::tensor::rows::lockstep;

/// A step goes beyond 2^32 elements. Cut to 32 bits, with a sign or without, a offset would be near the beginning.
const FAR: usize = (1 << 32) + 11;

/// What a tensor begins with.
#[derive(Clone, Copy)]
pub enum Content {
    /// Small numbers, no two neighbours alike.
    Numbers,
    /// These, from the first position on, again and again.
    These(&'static [i64]),
    /// The same number everywhere.
    Result,
    /// Zeros, without gaps; nobody says what is there afterwards.
    Scratch,
}

pub struct Operand(pub DataType, pub &'static [usize], pub Content);

/// An operation with the operands that it gets as tensors.
pub struct Call {
    pub name: &'static str,
    pub operands: &'static [Operand],
    pub encode: for<'a> fn(&Ops, &mut ComputeEncoder<'_>, &[Tensor<'a>]) -> Result<()>,
}

/// Where the steps along a tensor are long.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// Only its beginning lies far behind that of its buffer.
    Dense,
    /// Along one axis, counted from the last one and around.
    Along(usize),
    /// Along all axes.
    All,
}

/// Strides of a form, and the offset of the first element.
fn layout(form: Form, shape: &[usize], is_far: bool) -> (Vec<usize>, usize) {
    let count: usize = shape.iter().product();
    let mut strides: Vec<usize> = (0..shape.len())
        .map(|axis| shape[axis + 1..].iter().product())
        .collect();
    // Longer steps than along all other axes together, in both cases.
    let step = if is_far { FAR } else { count + 5 };
    match form {
        Form::Along(last) if !shape.is_empty() => {
            let axis = shape.len() - 1 - last % shape.len();
            for stride in &mut strides[..axis] {
                *stride /= shape[axis];
            }
            strides[axis] = step;
        }
        Form::All => {
            let step = if is_far { FAR } else { 3 };
            strides.iter_mut().for_each(|stride| *stride *= step);
        }
        Form::Dense | Form::Along(_) => {}
    }
    (strides, if is_far { (1 << 32) + 16 } else { 16 })
}

/// A tensor's memory.
pub struct Memory {
    buffer: Buffer,
    data_type: DataType,
    shape: &'static [usize],
    strides: Vec<usize>,
    start: usize,
}

impl Memory {
    pub fn new(operand: &Operand, form: Form, is_far: bool) -> Memory {
        let &Operand(data_type, shape, content) = operand;
        let form = if let Content::Scratch = content {
            Form::Dense
        } else {
            form
        };
        let (strides, start) = layout(form, shape, is_far);
        let (offsets, size) = (offsets(shape, &strides), data_type.size());
        let end = offsets.iter().max().map_or(0, |last| start + last + 1);
        let mut memory = sparse(end * size);
        for (position, offset) in offsets.iter().enumerate() {
            let value = match content {
                Content::Numbers => (position * 7 % 11) as f64 + 1.0,
                Content::These(values) => values[position % values.len()] as f64,
                Content::Result => 77.0,
                Content::Scratch => 0.0,
            };
            put(
                &mut memory,
                (start + offset) * size,
                &element(data_type, value),
            );
        }
        Memory {
            buffer: over(memory),
            data_type,
            shape,
            strides,
            start,
        }
    }

    pub fn tensor(&self) -> Tensor<'_> {
        let view = View::new(&self.buffer, self.start * self.data_type.size());
        Tensor::strided(view, self.data_type, self.shape, &self.strides).unwrap()
    }

    /// The bytes of its elements, in row-major order.
    fn read(&self) -> Vec<u8> {
        let size = self.data_type.size();
        let bytes = self.buffer.wait_read::<u8>().expect("readable");
        let offsets = offsets(self.shape, &self.strides);
        let elements = offsets.iter().flat_map(|offset| {
            let at = (self.start + offset) * size;
            &bytes[at..at + size]
        });
        elements.copied().collect()
    }
}

/// Calls it for both forms of lanes, far and near.
fn check(call: &Call, form: Form) {
    for ops in [ops(), lockstep()] {
        let [far, near] = [true, false].map(|is_far| {
            let operands = call.operands.iter();
            Vec::from_iter(operands.map(|operand| Memory::new(operand, form, is_far)))
        });
        run(|encoder| {
            for memories in [&far, &near] {
                let tensors: Vec<Tensor<'_>> = memories.iter().map(Memory::tensor).collect();
                (call.encode)(ops, encoder, &tensors)?;
            }
            Ok(())
        });
        for (number, (far, near)) in far.iter().zip(&near).enumerate() {
            if let Content::Scratch = call.operands[number].2 {
                continue;
            }
            let what = format!("operand {number} of {}, {form:?}", call.name);
            assert_eq!(far.read(), near.read(), "{what}");
        }
    }
}

#[test]
fn offsets_beyond_32_bits_are_reached_by_every_operation() {
    with_large_buffers(
        "views::offsets_beyond_32_bits_are_reached_by_every_operation",
        || {
            cache();
            for call in ENGINE {
                check(call, Form::Dense);
            }
            for call in CALLS.iter().chain(LAYERS).chain(PRODUCTS) {
                let ranks = call.operands.iter().map(|operand| operand.1.len());
                let rank = ranks.max().unwrap_or(0);
                let forms = [Form::Dense, Form::All];
                for form in forms.into_iter().chain((0..rank).map(Form::Along)) {
                    check(call, form);
                }
            }
        },
    );
}
