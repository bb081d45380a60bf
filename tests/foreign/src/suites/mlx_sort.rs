//! `mlx_sort.metal`: merge sort, of rows that one threadgroup holds and of longer ones in three kinds of steps.

use crate::buffers::{Arg, value};
use crate::rig::{File, groups};
use crate::suites::sort::is_order;
use crate::types::Type;

/// Elements that a thread sorts by itself.
const PER_THREAD: usize = 8;

/// What the file's kernels call a type.
fn name(kind: Type) -> &'static str {
    match kind {
        Type::F32 => "float32",
        Type::F16 => "float16",
        Type::Bf16 => "bfloat16",
        Type::U8 => "uint8",
        Type::U32 => "uint32",
        _ => "int64",
    }
}

pub fn run(file: &File) {
    for kind in Type::ALL {
        let sizes: &[usize] = if kind == Type::I64 {
            &[128, 256]
        } else {
            &[128, 256, 512]
        };
        for threads in sizes {
            for (rows, columns) in [(1, 1), (3, 37), (2, threads * PER_THREAD)] {
                let sort = Rows {
                    file,
                    kind,
                    threads: *threads,
                    rows,
                    columns,
                };
                sort.values();
                sort.order();
                sort.values_of_a_view();
                sort.order_of_a_view();
            }
        }
        let threads = sizes[sizes.len() - 1];
        for columns in [threads * PER_THREAD + 1, threads * PER_THREAD * 3 + 77] {
            Rows {
                file,
                kind,
                threads,
                rows: 2,
                columns,
            }
            .in_blocks();
        }
    }
}

/// Rows to sort, and the threads that do it.
struct Rows<'a> {
    file: &'a File,
    kind: Type,
    threads: usize,
    rows: usize,
    columns: usize,
}

impl Rows<'_> {
    fn case(&self) -> String {
        format!("{} rows of {}", self.rows, self.columns)
    }

    fn random(&self) -> Vec<f64> {
        let count = self.rows * self.columns;
        self.file
            .values(self.kind, self.columns as u64, count, 0.0..250.0)
    }

    fn kernel(&self, prefix: &str, result: &str) -> String {
        let (kind, threads) = (name(self.kind), self.threads);
        format!("{prefix}_{kind}_{result}_bn{threads}_tn{PER_THREAD}")
    }

    fn sorted(&self, values: &[f64]) -> Vec<f64> {
        let mut sorted = values.to_vec();
        for row in sorted.chunks_mut(self.columns) {
            row.sort_by(f64::total_cmp);
        }
        sorted
    }

    /// One threadgroup a row, rows behind each other.
    fn values(&self) {
        let kernel = self.kernel("c_block_sort", name(self.kind));
        let values = self.random();
        let input = self.file.input_at(self.kind, 3, &values);
        let output = self.file.output(self.kind, values.len());
        let arguments = self.contiguous_arguments(Arg::In(&input), Arg::Out(&output));
        let grid = groups((1, self.rows, 1), (self.threads, 1, 1));
        let launched = self.file.launch(&kernel, &[], &arguments, grid);
        let sorted = self.sorted(&values);
        self.file
            .check_exact(&kernel, &self.case(), launched, &output, &sorted);
    }

    fn order(&self) {
        let kernel = self.kernel("carg_block_sort", "uint32");
        let values = self.random();
        let input = self.file.input_at(self.kind, 3, &values);
        let output = self.file.output(Type::U32, values.len());
        let arguments = self.contiguous_arguments(Arg::In(&input), Arg::Out(&output));
        let grid = groups((1, self.rows, 1), (self.threads, 1, 1));
        let outcome = self
            .file
            .launch(&kernel, &[], &arguments, grid)
            .and_then(|()| is_order(&output, self.kind, &values, self.columns, true));
        self.file.note(&kernel, &self.case(), outcome);
    }

    fn contiguous_arguments<'b>(&self, input: Arg<'b>, output: Arg<'b>) -> [Arg<'b>; 7] {
        let columns = self.columns as i32;
        [
            input,
            output,
            value(columns),
            value(1i32),
            value(1i32),
            value(columns),
            value(columns),
        ]
    }

    /// Columns of a matrix, which the kernel finds by a shape and strides.
    fn values_of_a_view(&self) {
        let kernel = self.kernel("nc_block_sort", name(self.kind));
        let values = self.random();
        let input = self.file.input(self.kind, &self.transposed(&values));
        let output = self.file.output(self.kind, values.len());
        let arguments = self.view_arguments(Arg::In(&input), Arg::Out(&output));
        let grid = groups((1, self.rows, 1), (self.threads, 1, 1));
        let launched = self.file.launch(&kernel, &[], &arguments, grid);
        let sorted = self.sorted(&values);
        self.file
            .check_exact(&kernel, &self.case(), launched, &output, &sorted);
    }

    fn order_of_a_view(&self) {
        let kernel = self.kernel("ncarg_block_sort", "uint32");
        let values = self.random();
        let input = self.file.input(self.kind, &self.transposed(&values));
        let output = self.file.output(Type::U32, values.len());
        let arguments = self.view_arguments(Arg::In(&input), Arg::Out(&output));
        let grid = groups((1, self.rows, 1), (self.threads, 1, 1));
        let outcome = self
            .file
            .launch(&kernel, &[], &arguments, grid)
            .and_then(|()| is_order(&output, self.kind, &values, self.columns, true));
        self.file.note(&kernel, &self.case(), outcome);
    }

    fn transposed(&self, values: &[f64]) -> Vec<f64> {
        let column = |column| (0..self.rows).map(move |row| values[row * self.columns + column]);
        (0..self.columns).flat_map(column).collect()
    }

    fn view_arguments<'b>(&self, input: Arg<'b>, output: Arg<'b>) -> [Arg<'b>; 9] {
        let (rows, columns) = (self.rows as i32, self.columns as i32);
        [
            input,
            output,
            value(columns),
            value(rows),
            value(1i32),
            value(1i32),
            value(rows),
            value(1i64),
            value(i64::from(columns)),
        ]
    }

    /// Sorts blocks, then merges runs of blocks, twice as many each time; the last merge has the result.
    fn in_blocks(&self) {
        let (file, case) = (self.file, self.case());
        let values = self.random();
        let input = file.input_at(self.kind, 3, &values);
        let blocks = self.columns.div_ceil(self.threads * PER_THREAD);
        let pair = || {
            (
                file.output(self.kind, values.len()),
                file.output(Type::U32, values.len()),
            )
        };
        let partitions = file.output(Type::U32, self.rows * (blocks + 1));
        let columns = self.columns as i32;
        let sort = self.kernel("sort_mbsort", "uint32");
        let mut from = pair();
        let arguments = [
            Arg::In(&input),
            Arg::Out(&from.0),
            Arg::Out(&from.1),
            value(columns),
            value(1i32),
            value(1i32),
            value(self.rows as i32),
            value(i64::from(columns)),
        ];
        let grid = groups((blocks, self.rows, 1), (self.threads, 1, 1));
        let mut outcome = file.launch(&sort, &[], &arguments, grid);
        let mut merged = 2;
        let partition = self.kernel("partition_mbsort", "uint32");
        let merge = self.kernel("merge_mbsort", "uint32");
        while merged / 2 < blocks {
            let to = pair();
            let last = [value(columns), value(merged as i32), value(blocks as i32)];
            let [columns, tiles, count] = &last;
            let copy = |argument: &Arg<'_>| match argument {
                Arg::Bytes(bytes) => Arg::Bytes(bytes.clone()),
                _ => Arg::Nothing,
            };
            let mut arguments = vec![
                Arg::Out(&partitions),
                Arg::Made(&from.0),
                Arg::Made(&from.1),
            ];
            arguments.extend([copy(columns), copy(tiles), copy(count)]);
            let grid = groups((1, self.rows, 1), (blocks + 1, 1, 1));
            outcome = outcome.and_then(|()| file.launch(&partition, &[], &arguments, grid));
            let mut arguments = vec![
                Arg::Made(&partitions),
                Arg::Made(&from.0),
                Arg::Made(&from.1),
            ];
            arguments.extend([Arg::Out(&to.0), Arg::Out(&to.1)]);
            arguments.extend(last);
            let grid = groups((blocks, self.rows, 1), (self.threads, 1, 1));
            outcome = outcome.and_then(|()| file.launch(&merge, &[], &arguments, grid));
            from = to;
            merged *= 2;
        }
        let outcome =
            outcome.and_then(|()| is_order(&from.1, self.kind, &values, self.columns, true));
        for kernel in [&sort, &partition, &merge] {
            file.note(kernel, &case, outcome.clone());
        }
        let sorted = self.sorted(&values);
        file.check_exact(&merge, &case, Ok(()), &from.0, &sorted);
    }
}
