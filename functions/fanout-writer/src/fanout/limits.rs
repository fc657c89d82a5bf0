//! The limits of the pieces of a fan-out.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FanOutLimits {
    /// Followers read at once; an invocation holds two such pages in memory. An actor with fewer followers is served at
    /// once.
    pub page: u16,
    /// The approximate number of followers in a segment, unless that makes more than [`FanOutLimits::segments`].
    pub segment: u32,
    /// The most segments of one fan-out, which are processed in parallel.
    pub segments: usize,
    /// Entries, and listings of tags, that a command may write without noting that it is complete. A repeated command writes them
    /// again, and then notes it.
    pub repeated: usize,
}

impl Default for FanOutLimits {
    /// A page is a hundred batches. A segment is half a second's work for one invocation if the table admits 40,000 writes a
    /// second, which is much less than a few invocations can write. The note that a command is complete costs at most a hundredth
    /// of what it has written.
    fn default() -> Self {
        Self { page: 2_500, segment: 20_000, segments: 4, repeated: 100 }
    }
}
