//! `mlx_sort.metal`: merge sort, of rows that one threadgroup holds and of longer ones in three kinds of steps.

use crate::buffers::{Arg, Output, value};
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
                for layout in [Layout::Rows, Layout::Columns] {
                    sort.values(layout);
                    sort.order(layout);
                }
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

/// Where the elements of a row lie in the input.
#[derive(Clone, Copy)]
enum Layout {
    /// Behind each other.
    Rows,
    /// As columns of a matrix, which the kernel finds by a shape and strides.
    Columns,
}

impl Layout {
    /// The kernels' names begin so.
    fn prefix(self) -> &'static str {
        match self {
            Layout::Rows => "c",
            Layout::Columns => "nc",
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

    /// The values of each row, one threadgroup a row.
    fn values(&self, layout: Layout) {
        let kernel = self.kernel(&format!("{}_block_sort", layout.prefix()), name(self.kind));
        let values = self.random();
        let output = self.file.output(self.kind, values.len());
        let launched = self.launch(&kernel, layout, &values, &output);
        let sorted = self.sorted(&values);
        self.file
            .check_exact(&kernel, &self.case(), launched, &output, &sorted);
    }

    /// Where the values of each row stand in order.
    fn order(&self, layout: Layout) {
        let kernel = self.kernel(&format!("{}arg_block_sort", layout.prefix()), "uint32");
        let values = self.random();
        let output = self.file.output(Type::U32, values.len());
        let outcome = self
            .launch(&kernel, layout, &values, &output)
            .and_then(|()| is_order(&output, self.kind, &values, self.columns, true));
        self.file.note(&kernel, &self.case(), outcome);
    }

    fn launch(
        &self,
        kernel: &str,
        layout: Layout,
        values: &[f64],
        output: &Output,
    ) -> Result<(), String> {
        let (rows, columns) = (self.rows as i32, self.columns as i32);
        let input = match layout {
            Layout::Rows => self.file.input_at(self.kind, 3, values),
            Layout::Columns => self.file.input(self.kind, &self.transposed(values)),
        };
        let mut arguments = vec![Arg::In(&input), Arg::Out(output), value(columns)];
        match layout {
            // Steps within a row of input and output, and from row to row.
            Layout::Rows => arguments.extend([1, 1, columns, columns].map(value)),
            // The same within a row, then the shape and the strides of what is left.
            Layout::Columns => {
                arguments.extend([rows, 1, 1, rows].map(value));
                arguments.extend([1i64, i64::from(columns)].map(value));
            }
        }
        let grid = groups((1, self.rows, 1), (self.threads, 1, 1));
        self.file.launch(kernel, &[], &arguments, grid)
    }

    fn transposed(&self, values: &[f64]) -> Vec<f64> {
        let column = |column| (0..self.rows).map(move |row| values[row * self.columns + column]);
        (0..self.columns).flat_map(column).collect()
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
            let mut arguments = vec![
                Arg::Out(&partitions),
                Arg::Made(&from.0),
                Arg::Made(&from.1),
            ];
            arguments.extend(last.clone());
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
        let launched = outcome.clone();
        let outcome =
            outcome.and_then(|()| is_order(&from.1, self.kind, &values, self.columns, true));
        for kernel in [&sort, &partition, &merge] {
            file.note(kernel, &case, outcome.clone());
        }
        let sorted = self.sorted(&values);
        file.check_exact(&merge, &case, launched, &from.0, &sorted);
    }
}
