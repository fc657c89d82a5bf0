//! Spreading ids over partitions and ranges.

/// Spreads ids over 65,536 values: FNV-1a, folded to 16 bits. Part of stored keys, so it can never change.
pub fn spread(id: &str) -> u16 {
    let hash = id
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let folded = (hash >> 16) ^ (hash & 0xffff);
    u16::try_from(folded).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_changes() {
        assert_eq!(["bob", "", "a"].map(spread), [0x2612, 0x1cd9, 0xcd20]);
    }
}
