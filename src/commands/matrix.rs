//! How matrices of derivatives are printed.

use exec::Value;
use serde_json::Value as Json;

use super::Failure;
use super::derivative::json_of;

/// A table: a line a row, the columns to the right, below where they stand.
pub(super) fn table(matrix: &[Vec<f64>], rows: &[String], columns: &[String]) -> String {
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

/// Numbers as JSON; those that JSON does not have are strings.
pub(super) fn json_row(row: &[f64]) -> Result<Json, Failure> {
    Ok(Json::Array(row.iter().map(|float| json_of(&Value::from(*float))).collect::<Result<_, _>>()?))
}

/// A matrix as the list of its rows.
pub(super) fn json_rows(matrix: &[Vec<f64>]) -> Result<Json, Failure> {
    Ok(Json::Array(matrix.iter().map(|row| json_row(row)).collect::<Result<_, _>>()?))
}

/// Places as JSON.
pub(super) fn json_labels(labels: &[String]) -> Json {
    Json::Array(labels.iter().cloned().map(Json::String).collect())
}
