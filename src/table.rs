//! Tables of numbers as text.

use exec::Value;

/// A table: a line a row, the columns to the right, below where they stand.
pub(crate) fn table(matrix: &[Vec<f64>], rows: &[String], columns: &[String]) -> String {
    let cells: Vec<Vec<String>> =
        matrix.iter().map(|row| row.iter().map(|float| Value::from(*float).to_string()).collect()).collect();
    let length = |text: &str| text.chars().count();
    let first = rows.iter().map(|row| length(row)).max().unwrap_or(0);
    let mut widths: Vec<usize> = columns.iter().map(|column| length(column)).collect();
    for row in &cells {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = length(cell).max(*width);
        }
    }
    let line = |head: &str, cells: &[String]| {
        let mut line = format!("{head:<first$}");
        for (cell, width) in cells.iter().zip(&widths) {
            line.push_str(&format!("  {cell:>width$}"));
        }
        format!("{}\n", line.trim_end())
    };
    let mut text = line("", columns);
    for (head, row) in rows.iter().zip(&cells) {
        text.push_str(&line(head, row));
    }
    text
}
