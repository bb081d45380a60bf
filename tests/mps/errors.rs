//! What each bad argument gives: an error, nothing encoded, nothing written.

use metal_bridge::mps::*;
use metal_bridge::{Buffer, CommandBuffer, DispatchType, Error, Result, StorageMode};
use metal_bridge_test_support::{
    assert_error, complete_nothing, device, leak, other_device, queue,
};

use crate::support::*;

fn invalid(error: &Error) -> bool {
    matches!(error, Error::InvalidArgument(_))
}

fn out_of_range(error: &Error) -> bool {
    matches!(error, Error::OutOfRange(_))
}

fn misaligned(error: &Error) -> bool {
    matches!(error, Error::Misaligned(_))
}

fn buffer(bytes: usize) -> Buffer {
    let zeros = vec![0u8; bytes];
    device()
        .new_buffer_with_data(&zeros, StorageMode::Shared)
        .unwrap()
}

/// Encodes what is wrong into a command buffer, which then still runs.
#[track_caller]
fn refused(
    encode: impl FnOnce(&mut CommandBuffer) -> Result<()>,
    is: fn(&Error) -> bool,
    says: &str,
) {
    let mut commands = queue().command_buffer().unwrap();
    assert_error(encode(&mut commands), is, says);
    commands.commit().unwrap().wait().unwrap();
}

/// Products of 4 x 4 by 4 x 4 whose operands have been changed.
struct Product {
    kernel: MatrixMultiplication,
    buffers: [Buffer; 3],
}

impl Product {
    fn new() -> Product {
        Product {
            kernel: MatrixMultiplication::new(device(), 4, 4, 4).unwrap(),
            buffers: [(); 3].map(|()| buffer(256)),
        }
    }

    fn matrices(&self) -> [Matrix; 3] {
        [0, 1, 2].map(|i| Matrix::new(&self.buffers[i], 4, 4, DataType::Float32))
    }

    /// Each operand in turn is what `wrong` makes of it.
    #[track_caller]
    fn refuses(&self, wrong: impl Fn(Matrix) -> Matrix, is: fn(&Error) -> bool, says: &str) {
        for index in 0..3 {
            let mut matrices = self.matrices();
            matrices[index] = wrong(matrices[index].clone());
            let [left, right, result] = &matrices;
            refused(
                |commands| self.kernel.encode(commands, left, right, result),
                is,
                says,
            );
        }
    }
}

#[test]
fn operands_of_wrong_layouts_are_refused() {
    let product = Product::new();
    let check = |wrong: &dyn Fn(Matrix) -> Matrix, is, says| product.refuses(wrong, is, says);
    check(
        &|m| m.with_offset(2),
        misaligned,
        "begins at byte 2, not a multiple of an element's 4",
    );
    check(
        &|m| m.with_offset(196),
        out_of_range,
        "64 bytes at offset 196 of 256",
    );
    check(
        &|m| m.with_offset(usize::MAX - 3),
        out_of_range,
        "64 bytes at offset",
    );
    check(&|m| m.with_row_bytes(18), misaligned, "the stride 18");
    check(&|m| m.with_row_bytes(12), invalid, "less than 16");
    check(&|m| m.with_row_bytes(0), invalid, "less than 16");
    check(
        &|m| m.with_row_bytes(84),
        out_of_range,
        "268 bytes at offset 0 of 256",
    );
    check(
        &|m| m.with_row_bytes(1 << 62),
        out_of_range,
        "offset 0 of 256",
    );
    check(&|m| m.with_matrices(1, 60), invalid, "less than 64");
    check(&|m| m.with_matrices(1, 66), misaligned, "66");
    check(
        &|m| m.with_matrices(1, 72),
        misaligned,
        "from matrix to matrix, not a multiple of 16",
    );
}

#[test]
fn operands_of_wrong_shapes_and_types_are_refused() {
    let product = Product::new();
    let check = |is: fn(&Error) -> bool, says: &str, wrong: &dyn Fn(&Buffer) -> Matrix| {
        for index in 0..3 {
            let mut matrices = product.matrices();
            matrices[index] = wrong(&product.buffers[index]);
            let [left, right, result] = &matrices;
            let encode =
                |commands: &mut CommandBuffer| product.kernel.encode(commands, left, right, result);
            refused(encode, is, says);
        }
    };
    check(invalid, "is 1 x 4 x 5, and should be 1 x 4 x 4", &|b| {
        Matrix::new(b, 4, 5, DataType::Float32)
    });
    check(invalid, "is 1 x 3 x 4, and should be 1 x 4 x 4", &|b| {
        Matrix::new(b, 3, 4, DataType::Float32)
    });
    check(invalid, "is 1 x 0 x 4", &|b| {
        Matrix::new(b, 0, 4, DataType::Float32)
    });
    check(invalid, "type", &|b| Matrix::new(b, 4, 4, DataType::UInt32));
    check(invalid, "type", &|b| {
        Matrix::new(b, 4, 4, DataType::Float16)
    });
    check(invalid, "type", &|b| {
        Matrix::new(b, 4, 4, DataType::BFloat16)
    });
    // More matrices than another operand has.
    let two = |b: &Buffer| Matrix::new(b, 4, 4, DataType::Float32).with_matrices(2, 64);
    check(invalid, "x 4 x 4, and should be", &two);
    check(invalid, "x 4 x 4", &|b| {
        Matrix::new(b, 4, 4, DataType::Float32).with_matrices(0, 64)
    });

    let [left, right, result] = &product.matrices();
    let vector = Vector::new(&product.buffers[0], 4, DataType::Float32);
    let longer = Vector::new(&product.buffers[2], 5, DataType::Float32);
    let kernel = MatrixVectorMultiplication::new(device(), 4, 4).unwrap();
    let says = "the vector `result` is 1 x 5, and should be 1 x 4";
    refused(
        |commands| kernel.encode(commands, right, &vector, &longer),
        invalid,
        says,
    );
    let says = "the vector `vector` is 1 x 5, and should be 1 x 4";
    refused(
        |commands| kernel.encode(commands, right, &longer, &vector),
        invalid,
        says,
    );

    let softmax = MatrixSoftMax::new(device()).unwrap();
    let other = Matrix::new(&product.buffers[2], 4, 5, DataType::Float32);
    let says = "the matrix `result` is 1 x 4 x 5, and should be 1 x 4 x 4";
    refused(
        |commands| softmax.encode(commands, left, &other),
        invalid,
        says,
    );

    let top = MatrixFindTopK::new(device(), 5).unwrap();
    let indices = Matrix::new(&product.buffers[1], 4, 5, DataType::UInt32);
    let values = Matrix::new(&product.buffers[2], 4, 5, DataType::Float32);
    let says = "the matrix `input` has 4 columns, and needs 5 or more";
    refused(
        |commands| top.encode(commands, left, &indices, &values),
        invalid,
        says,
    );
    let says = "the matrix `indices` has elements of type 3, and needs type 33";
    refused(
        |commands| top.encode(commands, left, &values, &values),
        invalid,
        says,
    );
    let says = "the matrix `values` is 1 x 4 x 4, and should be 1 x 4 x 5";
    refused(
        |commands| top.encode(commands, left, &indices, result),
        invalid,
        says,
    );
}

#[test]
fn results_that_overlap_other_operands_are_refused() {
    let kernel = MatrixMultiplication::new(device(), 4, 4, 4).unwrap();
    let shared = buffer(256);
    let at = |offset| Matrix::new(&shared, 4, 4, DataType::Float32).with_offset(offset);
    for (left, right, result) in [
        (0, 64, 0),
        (0, 64, 64),
        (64, 128, 4),
        (0, 128, 188),
        (192, 64, 124),
    ] {
        let encode = |commands: &mut CommandBuffer| {
            kernel.encode(commands, &at(left), &at(right), &at(result))
        };
        refused(encode, invalid, "the matrix `result` overlaps");
    }
    // Inputs may overlap, and a result may touch them.
    run(|commands| kernel.encode(commands, &at(64), &at(80), &at(0)));
    run(|commands| kernel.encode(commands, &at(0), &at(0), &at(64)));
    let indices = Matrix::new(&shared, 4, 4, DataType::UInt32);
    let top = MatrixFindTopK::new(device(), 4).unwrap();
    let says = "the matrix `values` overlaps `indices`: 64 bytes at 0 and 64 bytes at 0";
    refused(
        |commands| top.encode(commands, &at(64), &indices, &at(0)),
        invalid,
        says,
    );
}

#[test]
fn arrays_of_wrong_shapes_are_refused() {
    let (a, b, c) = (buffer(256), buffer(256), buffer(256));
    let array = |of: &Buffer, shape: &[usize]| NdArray::new(of, shape, DataType::Float32).unwrap();
    for shape in [&[][..], &[1, 1, 1, 1, 1]] {
        assert_error(
            NdArray::new(&a, shape, DataType::Float32),
            invalid,
            "not 1 to 4",
        );
    }
    let kernel = NdArrayMatrixMultiplication::new(device(), &Default::default()).unwrap();
    for (left, right, result, says) in [
        (
            &[2, 3][..],
            &[4, 2][..],
            &[2, 2][..],
            "`right` has size 4 in dimension 2, and needs 3",
        ),
        (
            &[2, 3],
            &[3, 2],
            &[2, 3],
            "`result` has size 3 in dimension 3, and needs 2",
        ),
        (
            &[2, 2, 3],
            &[3, 3, 2],
            &[2, 2, 2],
            "`right` has size 3 in dimension 1, and needs 2",
        ),
        (
            &[2, 2, 3],
            &[3, 2],
            &[2, 2],
            "`result` has size 1 in dimension 1, and needs 2",
        ),
        (&[0, 3], &[3, 2], &[2, 2], "no size may be zero"),
    ] {
        let encode = |commands: &mut CommandBuffer| {
            kernel.encode(
                commands,
                &array(&a, left),
                &array(&b, right),
                None,
                &array(&c, result),
            )
        };
        refused(encode, invalid, says);
    }
    let square = |of: &Buffer| array(of, &[2, 2]);
    let encode = |commands: &mut CommandBuffer| {
        kernel.encode(
            commands,
            &square(&a),
            &square(&b),
            Some(&square(&b)),
            &square(&c),
        )
    };
    refused(encode, invalid, "takes 3 operands, and got 4");
    let far = square(&c).with_offset(244);
    refused(
        |commands| kernel.encode(commands, &square(&a), &square(&b), None, &far),
        out_of_range,
        "of 256",
    );

    let descriptor = Convolution2dDescriptor::new(DataType::Float32, 1, 1, [3, 3], [2, 2]);
    let kernel = Convolution2d::new(device(), &descriptor).unwrap();
    let (input, weights) = (array(&a, &[3, 3]), array(&b, &[2, 2]));
    let says = "the array `result` is 1 x 1 x 3 x 2, and should be 1 x 1 x 2 x 2";
    let encode = |commands: &mut CommandBuffer| {
        kernel.encode(commands, &input, &weights, None, &array(&c, &[3, 2]))
    };
    refused(encode, invalid, says);
    let encode = |commands: &mut CommandBuffer| {
        kernel.encode(commands, &input, &weights, None, &array(&a, &[2, 2]))
    };
    refused(encode, invalid, "the array `result` overlaps `input`");
}

#[test]
fn devices_are_not_mixed() {
    let Some(other) = other_device() else { return };
    let product = Product::new();
    let is = |error: &Error| matches!(error, Error::WrongDevice(_));
    let foreign = other.new_buffer(256, StorageMode::Shared).unwrap();
    product.refuses(
        |_| Matrix::new(&foreign, 4, 4, DataType::Float32),
        is,
        "device",
    );
    let [left, right, result] = &product.matrices();
    let kernel = MatrixMultiplication::new(other, 4, 4, 4).unwrap();
    refused(
        |commands| kernel.encode(commands, left, right, result),
        is,
        "kernel",
    );
}

#[test]
fn command_buffers_with_open_encoders_are_refused() {
    let product = Product::new();
    let [left, right, result] = &product.matrices();
    let queue = queue();
    let mut commands = queue.command_buffer().unwrap();
    leak(
        commands
            .compute_command_encoder(DispatchType::Serial)
            .unwrap(),
    );
    let is = |error: &Error| matches!(error, Error::InvalidState(_));
    let encoded = product.kernel.encode(&mut commands, left, right, result);
    assert_error(encoded, is, "has not been ended");
    drop(commands);
    product.buffers[2].wait_write::<u8>().unwrap();
    complete_nothing(&queue);
}

#[test]
fn the_cpu_and_a_kernel_exclude_each_other() {
    let product = Product::new();
    let [left, right, result] = &product.matrices();
    let is = |error: &Error| matches!(error, Error::InUse(_));
    let mut commands = queue().command_buffer().unwrap();
    let reader = product.buffers[2].wait_read::<f32>().unwrap();
    assert_error(
        product.kernel.encode(&mut commands, left, right, result),
        is,
        "read",
    );
    // The refused call uses no buffer.
    product.buffers[0].wait_write::<f32>().unwrap();
    drop(reader);
    product
        .kernel
        .encode(&mut commands, left, right, result)
        .unwrap();
    product.buffers[0].wait_read::<f32>().unwrap();
    assert_error(product.buffers[0].wait_write::<f32>(), is, "command buffer");
    assert_error(product.buffers[2].wait_read::<f32>(), is, "command buffer");
    commands.commit().unwrap();
    assert_eq!(
        product.buffers[2].wait_read::<f32>().unwrap()[..16],
        [0.0; 16]
    );
}
