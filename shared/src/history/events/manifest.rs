//! Writes the manifest of a period: files that list its objects.

use super::archive::{MOST_LISTED, Manifest, ManifestObject, manifest_key};
use super::{ArchivedObject, Archives, Period, Tally};
use crate::platform::dynamo::DynamoError;
use crate::platform::objects::{ObjectError, Objects};
use crate::platform::runtime::deadline::Deadline;

/// A manifest was not completely written.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    #[error(transparent)]
    Dynamo(#[from] DynamoError),
    #[error(transparent)]
    Object(#[from] ObjectError),
}

impl Archives {
    /// Puts the manifest of a period with `objects` objects. The first file is put last: if it is there, all are.
    ///
    /// # Errors
    /// [`ManifestError`]; some files may be there.
    pub async fn put_manifest(
        &self,
        bucket: &Objects,
        (period, tally): (Period, Tally),
        objects: u64,
        deadline: Deadline,
    ) -> Result<(), ManifestError> {
        let files = files(objects);
        let (mut listed, mut file, mut behind) = (Vec::new(), 1, None);
        loop {
            let page = self.of_period(period, behind, 1_000).await?;
            listed.extend(page.0.iter().map(ArchivedObject::listed));
            behind = page.1;
            let is_end = behind.is_none();
            // The first file has the last objects.
            while file < files && (listed.len() >= MOST_LISTED || is_end) {
                let rest = listed.split_off(listed.len().min(MOST_LISTED));
                let objects = std::mem::replace(&mut listed, rest);
                put_file(bucket, (period, tally), (file, files), objects, deadline).await?;
                file += 1;
            }
            if is_end {
                break;
            }
        }
        put_file(bucket, (period, tally), (0, files), listed, deadline).await
    }
}

/// How many files list `objects` objects.
pub fn files(objects: u64) -> usize {
    usize::try_from(objects).unwrap_or(usize::MAX).div_ceil(MOST_LISTED).max(1)
}

async fn put_file(
    bucket: &Objects,
    (period, tally): (Period, Tally),
    (file, files): (usize, usize),
    objects: Vec<ManifestObject>,
    deadline: Deadline,
) -> Result<(), ManifestError> {
    let Tally { events, bytes: line_bytes, sum } = tally;
    let (name, sum) = (period.to_string(), format!("{sum:032x}"));
    let manifest = Manifest { period: name, file, files, events, line_bytes, sum, objects };
    let bytes = serde_json::to_vec(&manifest).map_err(|_| {
        DynamoError::Unavailable("the manifest could not be written as JSON".to_owned())
    })?;
    Ok(bucket.put(&manifest_key(period, file), bytes.into(), deadline).await?)
}
