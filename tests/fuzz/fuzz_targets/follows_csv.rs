#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::properties::follows_csv(data));
