//! Elements with gaps around them, and bounds for what is computed from them.

use bytemuck::Pod;
use half::{bf16, f16};
use metal_bridge::mps::{DataType, Matrix, NdArray, Vector};
use metal_bridge::{Buffer, CommandBuffer, StorageMode};
use metal_bridge_test_support::{device, queue};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// What every operand may have.
pub const FLOATS: [DataType; 2] = [DataType::Float32, DataType::Float16];
/// What arrays may have.
pub const ARRAY_FLOATS: [DataType; 3] = [DataType::Float32, DataType::Float16, DataType::BFloat16];

/// What stands where no element is. All types have it exactly.
const GAP: f64 = -77.0;

/// The error of one rounding to the type, relative.
pub fn rounding(data_type: DataType) -> f64 {
    match data_type {
        DataType::Float16 => 2f64.powi(-11),
        DataType::BFloat16 => 2f64.powi(-8),
        _ => 2f64.powi(-24),
    }
}

/// How far a sum of `count` products may be off, whose magnitudes add up to `magnitude`, after it is stored in the type: sums are in
/// f32, in any order, and one rounding more for each of a few steps around them.
pub fn sum_bound(data_type: DataType, count: usize, magnitude: f64) -> f64 {
    let sums = (count as f64 + 8.0) * rounding(DataType::Float32);
    // f16 has no numbers between zero and 2^-24.
    (sums + 2.0 * rounding(data_type)) * magnitude + 2f64.powi(-25)
}

/// Rows of elements in memory, with gaps: sizes in elements.
#[derive(Debug, Clone, Copy)]
pub struct Strided {
    pub matrices: usize,
    pub rows: usize,
    pub columns: usize,
    pub offset: usize,
    pub row_stride: usize,
    pub matrix_stride: usize,
}

impl Strided {
    /// Without gaps.
    pub fn packed(matrices: usize, rows: usize, columns: usize) -> Strided {
        Strided {
            matrices,
            rows,
            columns,
            offset: 0,
            row_stride: columns,
            matrix_stride: rows * columns,
        }
    }

    /// With gaps before, between rows, between matrices and after.
    pub fn spread(matrices: usize, rows: usize, columns: usize) -> Strided {
        let row_stride = columns + 3;
        Strided {
            matrices,
            rows,
            columns,
            offset: 5,
            row_stride,
            matrix_stride: (rows + 2) * row_stride,
        }
    }

    fn index(&self, element: usize) -> usize {
        let (row, column) = (element / self.columns, element % self.columns);
        let (matrix, row) = (row / self.rows, row % self.rows);
        self.offset + matrix * self.matrix_stride + row * self.row_stride + column
    }

    pub fn count(&self) -> usize {
        self.matrices * self.rows * self.columns
    }

    fn total(&self) -> usize {
        self.index(self.count() - 1) + 1 + self.offset
    }
}

/// Elements of a type in a buffer, in the order of their indices whatever gaps there are.
pub struct Elements {
    pub buffer: Buffer,
    pub strided: Strided,
    pub data_type: DataType,
    /// As the type stores them.
    pub values: Vec<f64>,
}

impl Elements {
    pub fn new(strided: Strided, data_type: DataType, values: &[f64]) -> Elements {
        assert_eq!(values.len(), strided.count());
        let mut stored = vec![GAP; strided.total()];
        for (element, value) in values.iter().enumerate() {
            stored[strided.index(element)] = *value;
        }
        let buffer = upload(data_type, &stored);
        let values = values.iter().map(|v| round(data_type, *v)).collect();
        Elements {
            buffer,
            strided,
            data_type,
            values,
        }
    }

    /// Between -1 and 1.
    pub fn random(strided: Strided, data_type: DataType, seed: u64) -> Elements {
        let mut random = SmallRng::seed_from_u64(seed);
        let values: Vec<f64> = (0..strided.count())
            .map(|_| random.random_range(-1.0..1.0))
            .collect();
        Elements::new(strided, data_type, &values)
    }

    pub fn matrix(&self) -> Matrix {
        let (strided, size) = (&self.strided, self.data_type.size());
        Matrix::new(&self.buffer, strided.rows, strided.columns, self.data_type)
            .with_offset(strided.offset * size)
            .with_row_bytes(strided.row_stride * size)
            .with_matrices(strided.matrices, strided.matrix_stride * size)
    }

    /// The first row.
    pub fn vector(&self) -> Vector {
        Vector::new(&self.buffer, self.strided.columns, self.data_type)
            .with_offset(self.strided.offset * self.data_type.size())
    }

    /// All elements in this shape: there are no gaps between them.
    pub fn array(&self, shape: &[usize]) -> NdArray {
        assert_eq!(shape.iter().product::<usize>(), self.strided.count());
        NdArray::new(&self.buffer, shape, self.data_type)
            .unwrap()
            .with_offset(self.strided.offset * self.data_type.size())
    }

    /// What is there now.
    ///
    /// # Panics
    ///
    /// If something was written where no element is.
    pub fn read(&self) -> Vec<f64> {
        let mut stored = download(&self.buffer, self.data_type);
        let found = (0..self.strided.count()).map(|element| {
            let index = self.strided.index(element);
            std::mem::replace(&mut stored[index], GAP)
        });
        let found: Vec<f64> = found.collect();
        assert!(
            stored.iter().all(|value| *value == GAP),
            "written outside of {:?}",
            self.strided
        );
        found
    }

    /// Compares with the exact values and the bounds of each. What is exactly NaN or infinite has to be that.
    #[track_caller]
    pub fn assert_close(&self, what: &str, exact: impl IntoIterator<Item = (f64, f64)>) {
        let found = self.read();
        let mut count = 0;
        for (index, (exact, bound)) in exact.into_iter().enumerate() {
            let off = (found[index] - exact).abs();
            let is_right = match exact.is_finite() {
                true => off <= bound,
                false => found[index] == exact || (found[index].is_nan() && exact.is_nan()),
            };
            assert!(
                is_right,
                "{what}: element {index} is {} where {exact} is right: off by {off:e}, allowed {bound:e}",
                found[index]
            );
            count += 1;
        }
        assert_eq!(count, found.len(), "{what}");
    }
}

fn round(data_type: DataType, value: f64) -> f64 {
    match data_type {
        DataType::Float16 => f64::from(f16::from_f64(value)),
        DataType::BFloat16 => f64::from(bf16::from_f64(value)),
        DataType::Float32 => f64::from(value as f32),
        DataType::UInt32 => f64::from(value as u32),
    }
}

fn upload(data_type: DataType, values: &[f64]) -> Buffer {
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|&value| match data_type {
            DataType::Float16 => f16::from_f64(value).to_bits().to_ne_bytes().to_vec(),
            DataType::BFloat16 => bf16::from_f64(value).to_bits().to_ne_bytes().to_vec(),
            DataType::Float32 => (value as f32).to_ne_bytes().to_vec(),
            DataType::UInt32 => (value as i64 as u32).to_ne_bytes().to_vec(),
        })
        .collect();
    device()
        .new_buffer_with_data(&bytes, StorageMode::Shared)
        .unwrap()
}

fn download(buffer: &Buffer, data_type: DataType) -> Vec<f64> {
    match data_type {
        DataType::Float16 => elements_of::<f16>(buffer),
        DataType::BFloat16 => elements_of::<bf16>(buffer),
        DataType::Float32 => elements_of::<f32>(buffer),
        DataType::UInt32 => elements_of::<i32>(buffer),
    }
}

fn elements_of<T: Pod + Into<f64>>(buffer: &Buffer) -> Vec<f64> {
    let values = buffer.wait_read::<T>().unwrap();
    values.iter().map(|value| (*value).into()).collect()
}

/// Encodes, commits and waits.
#[track_caller]
pub fn run(encode: impl FnOnce(&mut CommandBuffer) -> metal_bridge::Result<()>) {
    let mut commands = queue().command_buffer().unwrap();
    encode(&mut commands).unwrap();
    commands.commit().unwrap().wait().unwrap();
}
