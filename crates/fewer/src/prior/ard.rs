//! A flat prior on each variance: automatic relevance determination (Tipping 2001).

use super::{EvidencePrior, Factors};

/// The prior of relevance vector machines, with c ≥ 0 to pay for each effective parameter
/// (Tzikas, Likas & Galatsanos 2009, sec. II-C); c = 0 is Tipping's.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ard {
    /// c: 1 is Akaike's criterion, log(n)/2 Schwarz's, log n the risk inflation criterion.
    pub price: f64,
    /// Takes s for z, as published: right only where columns are orthogonal.
    pub as_published: bool,
}

impl Ard {
    fn seen(&self, of: Factors) -> Factors {
        if self.as_published { Factors { z: of.s, ..of } } else { of }
    }
}

impl EvidencePrior for Ard {
    fn best_variance(&self, of: Factors, _unit: f64, _noise: f64) -> f64 {
        let Factors { s, q, z } = self.seen(of);
        // Tipping & Faul 2003, eq. 20, with the price of the parameters z/(α + s).
        let excess = q * q - s - 2.0 * self.price * z;
        if excess > 0.0 && s > 0.0 { excess / (s * s) } else { 0.0 }
    }

    fn price(&self) -> f64 {
        self.price
    }

    fn is_exact(&self) -> bool {
        !(self.as_published && self.price > 0.0)
    }

    fn gain(&self, of: Factors, variance: f64, _unit: f64, _noise: f64) -> f64 {
        let of = self.seen(of);
        of.gain(variance) - self.price * variance * of.z / (1.0 + variance * of.s)
    }
}
