//! fewer-report
