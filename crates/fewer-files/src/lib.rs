//! fewer-files
