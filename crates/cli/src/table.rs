//! Tables of text.

use std::io::{self, Write};

/// Rows of cells under a head.
pub struct Table<const COLUMNS: usize> {
    rows: Vec<[String; COLUMNS]>,
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    pub fn new(head: [&str; COLUMNS]) -> Self {
        Table {
            rows: vec![head.map(str::to_owned)],
        }
    }

    pub fn push(&mut self, row: [String; COLUMNS]) {
        self.rows.push(row);
    }

    /// With an empty line behind it; nothing without a row under the head.
    pub fn print_section(&self, out: &mut impl Write) -> io::Result<()> {
        if self.rows.len() == 1 {
            return Ok(());
        }
        self.print(out)?;
        writeln!(out)
    }

    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| row[column].chars().count());
            cells.max().unwrap_or(0)
        };
        let widths: [usize; COLUMNS] = std::array::from_fn(width);
        for row in &self.rows {
            let cells = row.iter().zip(widths);
            let line: String = cells
                .map(|(cell, width)| format!("  {cell:<width$}"))
                .collect();
            writeln!(out, "  {}", line.trim_end())?;
        }
        Ok(())
    }
}
