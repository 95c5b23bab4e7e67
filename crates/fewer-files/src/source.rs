//! Opens files and unpacks them to text.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::error::Problem;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Whether the path stands for the standard input.
pub fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Refuses missing files and directories.
pub fn check(path: &Path) -> Result<(), Problem> {
    match fs::metadata(path) {
        Ok(data) if data.is_dir() => Err(Problem::Directory),
        Ok(_) => Ok(()),
        Err(error) => Err(io_problem(error)),
    }
}

/// An error of the operating system.
pub fn io_problem(error: io::Error) -> Problem {
    match error.kind() {
        io::ErrorKind::NotFound => Problem::NotFound,
        io::ErrorKind::IsADirectory => Problem::Directory,
        _ => Problem::Io(error),
    }
}

/// The whole text of a file, unpacked and without byte order mark.
pub fn text(path: &Path) -> Result<String, Problem> {
    let bytes = if is_stdin(path) {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).map_err(io_problem)?;
        bytes
    } else {
        check(path)?;
        fs::read(path).map_err(io_problem)?
    };
    if bytes.is_empty() {
        return Err(Problem::Empty);
    }
    let named_gzip = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz"));
    let bytes = if named_gzip || bytes.starts_with(&GZIP_MAGIC) { unpack(&bytes)? } else { bytes };
    decode(bytes)
}

fn unpack(bytes: &[u8]) -> Result<Vec<u8>, Problem> {
    let mut unpacked = Vec::new();
    match MultiGzDecoder::new(bytes).read_to_end(&mut unpacked) {
        Ok(_) => Ok(unpacked),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(Problem::TruncatedGzip),
        Err(error) => Err(Problem::Gzip { details: error.to_string() }),
    }
}

fn decode(bytes: Vec<u8>) -> Result<String, Problem> {
    let mut text = String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        let before = &error.as_bytes()[..offset];
        Problem::NotUtf8 { line: 1 + before.iter().filter(|&&b| b == b'\n').count(), offset }
    })?;
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}
