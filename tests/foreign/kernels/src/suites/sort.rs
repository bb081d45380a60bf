//! `sort.metal`: the order of each row, by a bitonic network in one threadgroup.

use crate::buffers::{Arg, Output, value};
use crate::check::{compare, exactly, is_decisive};
use crate::rig::{File, groups};
use crate::types::Type;

pub fn run(file: &File) {
    for kind in Type::ALL {
        for (order, ascending) in [("asc", true), ("desc", false)] {
            let kernel = format!("asort_{order}_{}", kind.name());
            for (rows, columns) in [(1, 1), (3, 37), (2, 64), (2, 1000)] {
                rows_of(file, &kernel, kind, ascending, rows, columns);
            }
        }
    }
}

fn rows_of(file: &File, kernel: &str, kind: Type, ascending: bool, rows: usize, columns: usize) {
    let values = file.values(kind, columns as u64, rows * columns, 0.0..250.0);
    let (input, output) = (
        file.input_at(kind, 3, &values),
        file.output(Type::U32, rows * columns),
    );
    let padded = columns.next_power_of_two();
    let arguments = [
        Arg::In(&input),
        Arg::Out(&output),
        value(columns as i64),
        value(padded as i64),
    ];
    let grid = groups((1, rows, 1), (padded, 1, 1));
    let launched = file.launch_with_memory(kernel, &[], &arguments, (padded * 4).max(16), grid);
    let outcome = launched.and_then(|()| is_order(&output, kind, &values, columns, ascending));
    file.note(kernel, &format!("{rows} rows of {columns}"), outcome);
}

/// Whether each row of `output` holds every index of its row once, in the order of the values. Equal values may come in
/// any order.
pub fn is_order(
    output: &Output,
    kind: Type,
    values: &[f64],
    columns: usize,
    ascending: bool,
) -> Result<(), String> {
    let order = output.read()?;
    for (row, (order, values)) in order
        .chunks(columns)
        .zip(values.chunks(columns))
        .enumerate()
    {
        let in_row = |message| format!("row {row}: {message}");
        let mut indices = order.to_vec();
        indices.sort_by(f64::total_cmp);
        let all: Vec<f64> = (0..columns).map(|index| index as f64).collect();
        compare(Type::U32, &indices, &exactly(&all)).map_err(in_row)?;
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        if !ascending {
            sorted.reverse();
        }
        let ordered: Vec<f64> = order.iter().map(|index| values[*index as usize]).collect();
        compare(kind, &ordered, &exactly(&sorted)).map_err(in_row)?;
        is_decisive(kind, &exactly(&sorted))?;
    }
    Ok(())
}
