#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::properties::sort_key(data));
