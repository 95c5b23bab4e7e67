//! What several test files need: seeded random data and the committed fixtures.
#![allow(dead_code)]

use fewer::data::{Dataset, DenseView};

/// A small seeded generator (SplitMix64).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0xd1b5_4a32_d192_ed03)
    }

    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform on (0, 1).
    pub fn uniform(&mut self) -> f64 {
        ((self.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Standard normal (Box-Muller).
    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (2.0 * std::f64::consts::PI * self.uniform()).cos()
    }

    pub fn normals(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.normal()).collect()
    }
}

/// Rows of x (by rows), y, and the true weights: `terms` of them are not zero.
pub struct Problem {
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    pub rows: usize,
    pub columns: usize,
    pub weights: Vec<f64>,
}

impl Problem {
    /// Correlated normal columns, weights ±(1 to 3), intercept 2.
    pub fn linear(seed: u64, rows: usize, columns: usize, terms: usize, noise: f64) -> Self {
        let mut random = Random::new(seed);
        let mut x = random.normals(rows * columns);
        for row in x.chunks_mut(columns) {
            for j in 1..columns {
                row[j] = 0.5 * row[j - 1] + 0.75f64.sqrt() * row[j];
            }
        }
        let mut weights = vec![0.0; columns];
        for k in 0..terms {
            let sign = if random.uniform() < 0.5 { -1.0 } else { 1.0 };
            weights[k * columns / terms] = sign * (1.0 + 2.0 * random.uniform());
        }
        let y = x
            .chunks(columns)
            .map(|row| {
                let mean: f64 = row.iter().zip(&weights).map(|(x, w)| x * w).sum();
                2.0 + mean + noise * random.normal()
            })
            .collect();
        Self { x, y, rows, columns, weights }
    }

    pub fn view(&self) -> DenseView<'_> {
        DenseView::by_rows(&self.x, self.rows, self.columns).unwrap()
    }

    pub fn data(&self) -> Dataset<'_> {
        Dataset::new(self.view(), &self.y).unwrap()
    }

    /// x column after column.
    pub fn by_columns(&self) -> Vec<f64> {
        let mut out = Vec::with_capacity(self.x.len());
        for j in 0..self.columns {
            out.extend((0..self.rows).map(|i| self.x[i * self.columns + j]));
        }
        out
    }
}

/// A committed file.
pub fn fixture(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Rows of numbers from a committed CSV file without a header.
pub fn numbers(name: &str) -> (Vec<f64>, usize) {
    let text = fixture(name);
    let rows = text.lines().filter(|l| !l.trim().is_empty()).count();
    let values =
        text.split(['\n', ',']).filter(|v| !v.trim().is_empty()).map(|v| v.trim().parse().unwrap());
    (values.collect(), rows)
}

/// The largest |a − b|.
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}
