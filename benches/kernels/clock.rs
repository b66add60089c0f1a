//! Times: the least of many.

use std::time::{Duration, Instant};

/// Calls are timed in batches of at least this length, so that reading the clock costs nothing.
const BATCH: Duration = Duration::from_micros(20);

/// Calls that take longer are made once only.
const LONG: Duration = Duration::from_secs(1);

/// The least time of a call in nanoseconds, of as many as take `budget` together, but at least of two, as the first
/// finds nothing in the caches. Of calls that take seconds, there is only one.
pub(crate) fn least(budget: Duration, mut call: impl FnMut()) -> f64 {
    let start = Instant::now();
    call();
    let first = start.elapsed();
    let mut least = first.as_nanos() as f64;
    if first > LONG {
        return least;
    }
    let calls = BATCH.as_nanos().div_ceil(first.as_nanos().max(1)).min(1_000);
    loop {
        let batch = Instant::now();
        for _ in 0..calls {
            call();
        }
        least = least.min(batch.elapsed().as_nanos() as f64 / calls as f64);
        if start.elapsed() > budget {
            return least;
        }
    }
}
