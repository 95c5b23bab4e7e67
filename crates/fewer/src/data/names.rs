//! Names of columns, which cost nothing until someone reads them.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::sync::{Arc, OnceLock};

/// Names of columns, shared by all who hold them: given ones, or `x1`, `x2`, …, which are made
/// only where all of them are asked for.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    count: usize,
    all: Arc<OnceLock<Vec<String>>>,
}

impl Names {
    /// `x1`, `x2`, …
    pub fn numbered(count: usize) -> Self {
        Self { count, all: Arc::default() }
    }

    pub fn given(names: Vec<String>) -> Self {
        Self { count: names.len(), all: Arc::new(OnceLock::from(names)) }
    }

    pub fn len(&self) -> usize {
        self.count
    }

    /// One of them.
    pub fn one(&self, j: usize) -> String {
        self.all.get().map_or_else(|| numbered(j), |all| all[j].clone())
    }

    pub fn all(&self) -> &[String] {
        self.all.get_or_init(|| (0..self.count).map(numbered).collect())
    }
}

fn numbered(j: usize) -> String {
    format!("x{}", j + 1)
}

impl Serialize for Names {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.all().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::given)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_names_are_the_same_one_by_one_and_together() {
        let names = Names::numbered(3);
        assert_eq!((names.len(), names.one(2)), (3, "x3".to_string()));
        assert_eq!(names.all(), ["x1", "x2", "x3"]);
        assert_eq!(names.one(0), "x1");
        assert_eq!(Names::given(vec!["dose".into()]).one(0), "dose");
    }
}
