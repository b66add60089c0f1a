//! A program of its own that times kernels: compiled by the bench under several sets of flags, and asked line by line.
//!
//! A line is `WHAT KERNEL N X C MILLISECONDS`: `value` or `gradient`, the kernel and its size, the files with its
//! arguments (64-bit floats, little-endian), and how long to measure. The answer is a line of JSON: the least time in
//! nanoseconds, the value, and of a gradient the checksum.

#[path = "../clock.rs"]
mod clock;
mod gradients;
mod models;
mod primals;

use std::error::Error;
use std::hint::black_box;
use std::io::{BufRead, Write, stdin, stdout};
use std::time::Duration;

/// The error function of the system's mathematical library, which Rust's own does not have.
pub fn erf(x: f64) -> f64 {
    mod system {
        // SAFETY: the C standard says so of its declaration; it takes any number.
        unsafe extern "C" {
            pub safe fn erf(x: f64) -> f64;
        }
    }
    system::erf(x)
}

fn floats(path: &str) -> Result<Vec<f64>, Box<dyn Error>> {
    let bytes = std::fs::read(path)?;
    Ok(bytes.chunks_exact(8).map(|chunk| f64::from_le_bytes(chunk.try_into().unwrap_or_default())).collect())
}

fn answer(line: &str) -> Result<String, Box<dyn Error>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [what, kernel, n, x, c, milliseconds] = words[..] else {
        return Err(format!("`{line}` is not `WHAT KERNEL N X C MILLISECONDS`").into());
    };
    let (x, c) = (floats(x)?, floats(c)?);
    let n: usize = n.parse()?;
    let budget = Duration::from_millis(milliseconds.parse()?);
    if what == "value" {
        let f = primals::find(kernel).ok_or("no such kernel")?;
        let mut value = 0.0;
        let ns = clock::least(budget, || value = f(black_box(&x), black_box(&c), black_box(n)));
        return Ok(format!("{{\"ns\": {ns:?}, \"f\": {value:?}, \"g\": null}}"));
    }
    let f = gradients::find(kernel).ok_or("no such kernel")?;
    let mut dx = vec![f64::NAN; x.len()];
    let mut saved = Vec::new();
    let mut value = 0.0;
    let ns = clock::least(budget, || value = f(black_box(&x), black_box(&c), black_box(n), &mut dx, &mut saved));
    let checksum: f64 = dx.iter().zip((1..=7).cycle()).map(|(partial, weight)| partial * f64::from(weight)).sum();
    Ok(format!("{{\"ns\": {ns:?}, \"f\": {value:?}, \"g\": {checksum:?}}}"))
}

fn main() -> Result<(), Box<dyn Error>> {
    for line in stdin().lock().lines() {
        let answer = answer(&line?)?;
        writeln!(stdout(), "{answer}")?;
        stdout().flush()?;
    }
    Ok(())
}
