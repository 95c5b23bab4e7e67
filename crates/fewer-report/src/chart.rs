//! The few shapes that the pictures are made of.

use std::fmt::Write;

/// Colours for light and dark screens. Blue and orange are told apart by everyone.
const STYLE: &str = "\
.fw-ground{fill:#fff}.fw-ink{fill:#1f2933}.fw-muted{fill:#66727f}\
.fw-grid{stroke:#e4e8ec}.fw-axis{stroke:#9aa5b1}.fw-guide{stroke:#66727f;stroke-width:1.5;stroke-dasharray:6 4}\
.fw-plus{fill:#2b6cb0}.fw-minus{fill:#c05621}.fw-dot{fill:#2b6cb0;fill-opacity:.45}\
.fw-line{stroke:#2b6cb0;stroke-width:2;fill:none}\
.fw-path{stroke-width:1.8;fill:none;stroke-linejoin:round}.fw-faint{stroke:#c3cbd3}.fw-dash{stroke-dasharray:8 3}\
.fw-path0{stroke:#2b6cb0}.fw-path1{stroke:#c05621}.fw-path2{stroke:#2f855a}.fw-path3{stroke:#805ad5}\
.fw-path4{stroke:#b7791f}.fw-path5{stroke:#d53f8c}\
.fw-class0{fill:#2b6cb0}.fw-class1{fill:#c05621}.fw-class2{fill:#2f855a}.fw-class3{fill:#805ad5}\
.fw-class4{fill:#b7791f}.fw-class5{fill:#d53f8c}.fw-mark{stroke:#fff;stroke-width:.8}\
.fw-border{stroke:#1f2933;stroke-width:1.5;stroke-linecap:round;fill:none}\
.fw-ring{stroke:#1f2933;stroke-width:2;fill:none}.fw-halo{stroke:#fff;stroke-width:4;fill:none}\
@media (prefers-color-scheme:dark){\
.fw-ground{fill:#14181d}.fw-ink{fill:#e4e8ec}.fw-muted{fill:#98a3af}\
.fw-grid{stroke:#2a313a}.fw-axis{stroke:#5b6773}.fw-guide{stroke:#98a3af}\
.fw-plus{fill:#63a4e6}.fw-minus{fill:#ee9560}.fw-dot{fill:#63a4e6}.fw-line{stroke:#63a4e6}\
.fw-faint{stroke:#4a5561}.fw-path0{stroke:#63a4e6}.fw-path1{stroke:#ee9560}.fw-path2{stroke:#68d391}\
.fw-path3{stroke:#b794f4}.fw-path4{stroke:#ecc94b}.fw-path5{stroke:#f687b3}\
.fw-class0{fill:#63a4e6}.fw-class1{fill:#ee9560}.fw-class2{fill:#68d391}.fw-class3{fill:#b794f4}\
.fw-class4{fill:#ecc94b}.fw-class5{fill:#f687b3}.fw-mark{stroke:#14181d}\
.fw-border,.fw-ring{stroke:#e4e8ec}.fw-halo{stroke:#14181d}}";

const FONT: &str = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif";

/// Where a text begins, or ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// A picture that grows shape by shape.
pub struct Chart {
    width: f64,
    height: f64,
    body: String,
}

impl Chart {
    pub fn new(width: f64, height: f64) -> Self {
        Self { width, height, body: String::new() }
    }

    fn push(&mut self, shape: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.body.write_fmt(shape);
    }

    pub fn text(&mut self, x: f64, y: f64, class: &str, anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = escape(text);
        self.push(format_args!(
            r#"<text class="{class}" x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{text}</text>"#
        ));
    }

    /// A text that runs upwards around its middle.
    pub fn upward_text(&mut self, x: f64, y: f64, text: &str) {
        let text = escape(text);
        self.push(format_args!(
            r#"<text class="fw-muted" transform="translate({x:.1} {y:.1}) rotate(-90)" text-anchor="middle">{text}</text>"#
        ));
    }

    pub fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        self.push(format_args!(
            r#"<line class="{class}" x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}"/>"#,
            from.0, from.1, to.0, to.1
        ));
    }

    /// A bar with a text that shows when the pointer rests on it.
    pub fn bar(&mut self, class: &str, x: f64, y: f64, width: f64, height: f64, title: &str) {
        let title = escape(title);
        self.push(format_args!(
            r#"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" rx="2"><title>{title}</title></rect>"#
        ));
    }

    pub fn dot(&mut self, x: f64, y: f64) {
        self.push(format_args!(r#"<circle class="fw-dot" cx="{x:.1}" cy="{y:.1}" r="3.2"/>"#));
    }

    pub fn path(&mut self, class: &str, opacity: Option<f64>, path: &str) {
        let opacity = opacity.map(|o| format!(r#" fill-opacity="{o:.3}""#)).unwrap_or_default();
        self.push(format_args!(r#"<path class="{class}"{opacity} d="{path}"/>"#));
    }

    pub fn polyline(&mut self, class: &str, points: &[(f64, f64)]) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        self.push(format_args!(r#"<polyline class="{class}" points="{}"/>"#, points.join(" ")));
    }

    /// The picture; `name` says what it shows to those who cannot see it.
    pub fn finish(self, name: &str) -> String {
        let (width, height, body, name) = (self.width, self.height, self.body, escape(name));
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{name}" width="{width:.0}" height="{height:.0}" viewBox="0 0 {width:.0} {height:.0}" font-family="{FONT}" font-size="13"><style>{STYLE}</style><rect class="fw-ground" width="{width:.0}" height="{height:.0}"/>{body}</svg>"#
        )
    }
}

/// Text as it may stand in XML; characters that XML forbids become the replacement character.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// About how wide a text is at 13 pixels.
pub fn text_width(text: &str) -> f64 {
    text.chars().map(char_width).sum()
}

fn char_width(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | '.' | ',' | '·' | ' ' | '\'' => 4.0,
        'm' | 'w' | 'M' | 'W' => 11.5,
        'A'..='Z' => 9.0,
        c if c as u32 >= 0x2e80 => 13.5,
        _ => 7.5,
    }
}

/// The text, cut where it would be wider than `width`.
pub fn shortened(text: &str, width: f64) -> String {
    if text_width(text) <= width {
        return text.into();
    }
    let mut used = char_width('…');
    let fits = |c: &char| {
        used += char_width(*c);
        used <= width
    };
    let mut out: String = text.chars().take_while(fits).collect();
    out.push('…');
    out
}

/// The same for names, which often differ at their end: cut in the middle.
pub fn shortened_inside(text: &str, width: f64) -> String {
    if text_width(text) <= width {
        return text.into();
    }
    let half = (width - char_width('…')) / 2.0;
    let part = |characters: &mut dyn Iterator<Item = char>| -> Vec<char> {
        let mut used = 0.0;
        let fits = |c: &char| {
            used += char_width(*c);
            used <= half
        };
        characters.take_while(fits).collect()
    };
    let start = part(&mut text.chars());
    let end = part(&mut text.chars().rev());
    start.into_iter().chain(['…']).chain(end.into_iter().rev()).collect()
}

/// A linear map from values to pixels.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    pub low: f64,
    pub high: f64,
    pub from: f64,
    pub to: f64,
}

impl Scale {
    /// Covers the finite values, with a margin as a part of their range.
    pub fn covering(values: impl Iterator<Item = f64>, margin: f64, from: f64, to: f64) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for v in values.filter(|v| v.is_finite()) {
            // So that the range is finite too.
            let v = v.clamp(-1e300, 1e300);
            (low, high) = (low.min(v), high.max(v));
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        let range = high - low;
        let margin = if range > low.abs().max(high.abs()) * 1e-12 {
            range * margin
        } else {
            low.abs().max(1.0) * 0.5
        };
        Self { low: low - margin, high: high + margin, from, to }
    }

    pub fn at(&self, value: f64) -> f64 {
        self.from + (value - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    /// Round values within the scale, about `count` of them.
    pub fn ticks(&self, count: usize) -> Vec<f64> {
        let raw = (self.high - self.low) / count.max(1) as f64;
        if !(raw.is_finite() && raw > 0.0) {
            return Vec::new();
        }
        let power = 10f64.powf(raw.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|s| *s >= raw);
        let step = step.unwrap_or(10.0 * power);
        let first = (self.low / step).ceil();
        (0..=2 * count + 2)
            .map(|k| (first + k as f64) * step)
            .take_while(|tick| *tick <= self.high)
            .collect()
    }
}
