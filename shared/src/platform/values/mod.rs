//! Values that cannot be invalid: they are parsed at the edge, and do no I/O.

mod id;
mod origin;
mod packed;
mod payload;
mod refusal;
mod retention;
mod sort_key;
mod span;
mod spread;
mod text_value;
mod timestamp;
mod word;

pub use id::{
    ActivityId, ActorId, AlertId, BattleId, Choice, CustomerId, EventId, HitId, IdError,
    MAX_CHOICE_LENGTH, MAX_ID_LENGTH, MessageId, PollId, RoomId, RuleId, ScoreId, TenantId,
    ViewerId, is_id_character,
};
pub use origin::{Origin, OriginError, is_message_id};
pub use packed::{Packer, Unpacker};
pub use payload::{MAX_PAYLOAD_BYTES, MAX_PAYLOAD_DEPTH, Payload, PayloadError};
pub use refusal::{RefusalReason, RefusalReasonError};
pub use retention::{DEFAULT_RETENTION_DAYS, Retention};
pub use sort_key::{SortKey, SortKeyError};
pub use span::{Order, Span, SpanKeys};
pub use spread::spread;
pub use timestamp::{TIMESTAMP_LENGTH, Timestamp, TimestampError};
pub use word::{
    EventName, EventNameError, Kind, KindError, MAX_EVENT_NAME_LENGTH, MAX_KIND_LENGTH,
};
