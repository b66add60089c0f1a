#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kit::targets::fuzz("savings", data));
