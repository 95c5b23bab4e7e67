//! Model files: one JSON object that a person can read, with a checksum.
//!
//! `{"format": 1, "fewer": "<version>", "sha256": "<of the model's compact JSON>", "model": {…}}`.
//! Loading reads data only; nothing in a file is ever run.

use super::Model;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::Path;

/// The newest format this version writes and reads.
const FORMAT: u32 = 1;

const TRUNCATED: &str = "ends too early: the file is truncated; copy or save the model again";

#[derive(Serialize)]
struct Envelope<'a> {
    format: u32,
    fewer: &'a str,
    sha256: String,
    model: &'a RawValue,
}

#[derive(Deserialize)]
struct FormatOnly {
    format: u32,
}

#[derive(Deserialize)]
struct Contents<'a> {
    sha256: String,
    #[serde(borrow)]
    model: &'a RawValue,
}

impl Model {
    /// The model as the text of a model file.
    pub fn to_json(&self) -> Result<String> {
        let problem = |e: serde_json::Error| file_error(Path::new("model"), e.to_string());
        let model = serde_json::value::to_raw_value(self).map_err(problem)?;
        let envelope = Envelope {
            format: FORMAT,
            fewer: env!("CARGO_PKG_VERSION"),
            sha256: checksum(model.get()),
            model: &model,
        };
        serde_json::to_string(&envelope).map_err(problem)
    }

    /// Reads the text of a model file.
    pub fn from_json(text: &str) -> Result<Self> {
        Self::parse(text, Path::new("model"))
    }

    /// Writes the model file; an earlier file of that name stays whole until the new one is.
    ///
    /// ```
    /// # use fewer::data::{Dataset, DenseView};
    /// # use fewer::method::SparseRegressor;
    /// use fewer::model::Model;
    /// # let x = [1.0, 2.0, 3.0, 4.0, 5.0, 7.0];
    /// # let y = [2.0, 4.0, 6.0, 8.0, 10.0, 14.0];
    /// # let data = Dataset::new(DenseView::by_rows(&x, 6, 1)?, &y)?;
    /// # let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    /// let model = SparseRegressor::new().fit(&data)?;
    /// model.save(&path)?;
    /// assert_eq!(Model::load(&path)?.formula(), model.formula());
    /// # Ok::<(), fewer::Error>(())
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let text = self.to_json()?;
        let write = || -> std::io::Result<()> {
            // Through a link to what it stands for; never over a device or a folder.
            let target = match std::fs::metadata(path) {
                Ok(found) if found.is_file() => std::fs::canonicalize(path)?,
                Ok(_) => return Err(std::io::Error::other("it is not an ordinary file")),
                Err(_) => path.to_path_buf(),
            };
            let folder = target.parent().filter(|f| !f.as_os_str().is_empty());
            let mut file = new_file(folder.unwrap_or(Path::new(".")))?;
            file.write_all(text.as_bytes())?;
            file.write_all(b"\n")?;
            file.as_file().sync_all()?;
            file.persist(&target).map_err(|e| e.error)?;
            Ok(())
        };
        write().map_err(|e| file_error(path, format!("cannot be written: {e}")))
    }

    /// Reads a model file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let bytes =
            std::fs::read(path).map_err(|e| file_error(path, format!("cannot be read: {e}")))?;
        let text = String::from_utf8(bytes).map_err(|e| {
            // Cut within a character: the file goes no further.
            let cut = e.utf8_error().error_len().is_none();
            let problem = "is not a model file of fewer (not text in UTF-8)";
            file_error(path, if cut { TRUNCATED.into() } else { problem.into() })
        })?;
        Self::parse(&text, path)
    }

    fn parse(text: &str, path: &Path) -> Result<Self> {
        if text.trim().is_empty() {
            return Err(file_error(path, "is empty, not a model file of fewer".into()));
        }
        let format = serde_json::from_str::<FormatOnly>(text).map_err(|e| {
            // A number may be cut where what is left of it is no number.
            let begun = text.trim_start().starts_with("{\"format\"");
            let problem = if e.is_eof() || begun && !text.trim_end().ends_with('}') {
                TRUNCATED.into()
            } else {
                format!("is not a model file of fewer ({e})")
            };
            file_error(path, problem)
        })?;
        if format.format > FORMAT {
            return Err(file_error(
                path,
                format!(
                    "has format {}, and this version reads up to {FORMAT}: install a newer fewer",
                    format.format
                ),
            ));
        }
        let contents: Contents<'_> = serde_json::from_str(text)
            .map_err(|e| file_error(path, format!("is not a model file of fewer ({e})")))?;
        if checksum(contents.model.get()) != contents.sha256 {
            return Err(file_error(
                path,
                "does not match its checksum: it was changed or damaged; save the model again"
                    .into(),
            ));
        }
        let model: Model = serde_json::from_str(contents.model.get())
            .map_err(|e| file_error(path, format!("has a model that cannot be read ({e})")))?;
        model.check(path)?;
        Ok(model)
    }

    /// A file can have a right checksum and still make no sense.
    fn check(&self, path: &Path) -> Result<()> {
        let outputs = match &self.classes {
            Some(classes) if classes.len() != 2 => classes.len(),
            _ => 1,
        };
        let consistent = self.basis.len() == self.terms.len()
            && self.basis.fits(self.features.len())
            && self.base.len() == outputs
            && self.terms.iter().all(|t| {
                t.index < self.basis_size
                    && t.weights.len() == outputs
                    && t.weights.iter().all(|w| w.is_finite())
            })
            && self.noise_nu.is_none_or(|nu| nu.is_finite() && nu > 0.0)
            && self.posterior.as_ref().is_none_or(|p| p.fits(outputs, self.terms.len()))
            && self.draws.as_ref().is_none_or(|d| d.fits(outputs, self.terms.len()))
            && self.augmentation.as_ref().is_none_or(|a| a.fits(self.features.len()));
        if consistent {
            return Ok(());
        }
        Err(file_error(path, "has a model whose parts do not fit together".into()))
    }
}

/// Temporary files are private; a model file has the rights of any other new file.
fn new_file(folder: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.prefix(".fewer-").tempfile_in(folder)
}

fn checksum(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|b| format!("{b:02x}")).collect()
}

fn file_error(path: &Path, problem: String) -> Error {
    Error::ModelFile { path: path.into(), problem }
}
