//! Matrices of derivatives as JSON.

use exec::Value;
use serde_json::Value as Json;

use super::Failure;
use super::derivative::json_of;

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
