//! Two classes in the plane that no straight line parts.

use fewer::data::{Dataset, DenseView, Target};
use fewer::method::{BasisKind, ProbitClassifier};
use fewer_report::{Comparison, Score, boundary_svg};
use std::f64::consts::PI;
use std::path::Path;

use crate::failure::{Failure, Outcome};
use crate::output;
use crate::watch::{Watch, until_safe};

const TRAINING: usize = 250;
const NEW: usize = 1000;
const NOISE: f64 = 0.2;
const CLASSES: [&str; 2] = ["lower", "upper"];
const NAMES: [&str; 2] = ["east", "north"];

/// Fits the half-moons, writes their data and picture, and says what came out.
pub fn show(folder: &Path) -> Outcome<String> {
    let mut random = Random(2001);
    let (training, new) = (Moons::draw(TRAINING, &mut random), Moons::draw(NEW, &mut random));
    let data = Dataset::new(training.view()?, training.target())?
        .with_names(NAMES)?
        .with_target_name("moon");
    let probit = ProbitClassifier::new().basis(BasisKind::Rbf);
    let model = until_safe(|| Ok(probit.fit_observed(&data, &Watch::silent())?))?;
    let Score::Classes(score) = Comparison::of(&model, new.view()?, &new.target())?.score(None)
    else {
        return Err(Failure::Input("the half-moons have no classes".into()));
    };

    let (data, picture) = (folder.join("moons.csv"), folder.join("boundary.svg"));
    output::write(&data, &training.csv())?;
    if let Some(svg) = boundary_svg(&model, training.view()?, &training.codes) {
        output::write(&picture, &svg)?;
    }
    let (data, file) = (data.display(), folder.join("moons.json").display().to_string());
    Ok(format!(
        "two half-moons, {TRAINING} noisy points: is a point of the upper or of the lower one?\n\
         Offered: {} kernels, one on each point. Kept: {}.\n\
         On {NEW} new points: {} errors ({:.1} %).\n\n\
         Look at {}, or type\n  \
         fewer fit {data} --target moon --basis rbf --out {file}\n  \
         fewer predict {file} {data} --proba | head\n",
        model.basis_size(),
        model.n_terms(),
        score.errors,
        100.0 * (1.0 - score.accuracy),
        picture.display(),
    ))
}

struct Moons {
    /// Row after row.
    x: Vec<f64>,
    codes: Vec<usize>,
}

impl Moons {
    fn draw(count: usize, random: &mut Random) -> Self {
        let mut x = Vec::with_capacity(2 * count);
        let codes: Vec<usize> = (0..count).map(|i| i % 2).collect();
        for &code in &codes {
            let (sin, cos) = (PI * random.uniform()).sin_cos();
            let (a, b) = if code == 1 { (cos, sin) } else { (1.0 - cos, 0.5 - sin) };
            x.extend([a + NOISE * random.normal(), b + NOISE * random.normal()]);
        }
        Self { x, codes }
    }

    fn view(&self) -> Outcome<DenseView<'_>> {
        Ok(DenseView::by_rows(&self.x, self.codes.len(), 2)?)
    }

    fn target(&self) -> Target<'static> {
        Target::labels(self.codes.iter().map(|&code| CLASSES[code]))
    }

    fn csv(&self) -> String {
        let rows = self.x.chunks(2).zip(&self.codes);
        let lines = rows.map(|(x, &code)| format!("{},{},{}\n", x[0], x[1], CLASSES[code]));
        format!("{},{},moon\n", NAMES[0], NAMES[1]) + &lines.collect::<String>()
    }
}

/// Numbers that depend on the seed only (SplitMix64).
struct Random(u64);

impl Random {
    /// In (0, 1).
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64 + 1e-17
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (2.0 * PI * self.uniform()).cos()
    }
}
