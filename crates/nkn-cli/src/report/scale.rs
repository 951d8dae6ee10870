//! Axes: the range of the values, linear or logarithmic, and where its ticks stand.

use super::text::{fixed, minus, power_of_ten};

/// Values beyond this size are treated like infinities: differences and ratios of the others cannot overflow.
const LARGEST: f64 = 1e100;

/// Whether a value can be drawn.
pub fn drawable(value: f64) -> bool {
    value.is_finite() && value.abs() < LARGEST
}

/// The smallest and the largest drawable value.
pub fn extent(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values.into_iter().filter(|&value| drawable(value)).fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((low, high)) => Some((f64::min(low, value), f64::max(high, value))),
    })
}

/// One axis of a plot.
#[derive(Debug, Clone, Copy)]
pub struct Axis {
    /// In powers of ten if logarithmic.
    low: f64,
    high: f64,
    logarithmic: bool,
}

/// Where an axis is marked.
#[derive(Debug, Default)]
pub struct Ticks {
    /// Values with a label.
    pub labelled: Vec<(f64, String)>,
    /// Values without.
    pub minor: Vec<f64>,
    /// What the labels are to be multiplied with, as in ×10⁻³.
    pub factor: Option<String>,
}

impl Ticks {
    /// Ticks at whole numbers, which are their labels.
    pub fn at(values: impl IntoIterator<Item = usize>) -> Self {
        let labelled = values.into_iter().map(|value| (value as f64, value.to_string())).collect();
        Self { labelled, ..Self::default() }
    }
}

impl Axis {
    /// A linear axis over exactly this range; an empty range is widened.
    pub fn linear((low, high): (f64, f64)) -> Self {
        let room = if high - low > 1e-12 * low.abs().max(high.abs()) { 0.0 } else { 0.5 * low.abs().max(1e-12) };
        Self { low: low - room, high: high + room, logarithmic: false }
    }

    /// A linear axis with room at both ends of the values.
    pub fn around(values: impl IntoIterator<Item = f64>) -> Self {
        let (low, high) = extent(values).unwrap_or((0.0, 1.0));
        let room = if high > low { 0.07 * (high - low) } else { 0.5 * low.abs().max(1e-3) };
        Self::linear((low - room, high + room))
    }

    /// A logarithmic axis over a positive range, at least a decade long.
    pub fn logarithmic((low, high): (f64, f64)) -> Self {
        let (low, high) = (low.log10(), high.log10());
        let room = (0.04 * (high - low)).max((1.0 - (high - low)) / 2.0);
        Self { low: low - room, high: high + room, logarithmic: true }
    }

    /// An axis on which doubling is the same step everywhere, with room at both ends of the values.
    pub fn doublings(values: impl IntoIterator<Item = usize>) -> Self {
        let exponents = values.into_iter().map(|value| (value as f64).log10());
        Self { logarithmic: true, ..Self::around(exponents) }
    }

    /// The position of a value: 0 at the low end, 1 at the high end; none if the value cannot be drawn.
    pub fn position(&self, value: f64) -> Option<f64> {
        if !drawable(value) || (self.logarithmic && value <= 0.0) {
            return None;
        }
        let value = if self.logarithmic { value.log10() } else { value };
        Some((value - self.low) / (self.high - self.low))
    }

    /// The length of the axis in its own units (decades if logarithmic).
    pub fn span(&self) -> f64 {
        self.high - self.low
    }

    /// Round values on the axis, about `count` of them.
    pub fn ticks(&self, count: usize) -> Ticks {
        if self.logarithmic { self.decades(count) } else { self.round_values(count) }
    }

    fn round_values(&self, count: usize) -> Ticks {
        let rough = self.span() / count.max(1) as f64;
        let unit = 10f64.powf(rough.log10().floor());
        let step =
            [1.0, 2.0, 2.5, 5.0].into_iter().map(|m| m * unit).find(|&step| step >= 0.7 * rough).unwrap_or(10.0 * unit);
        let largest = self.low.abs().max(self.high.abs());
        let exponent = (largest * 1.000_001).log10().floor() as i32;
        let shift = if (-1..5).contains(&exponent) { 0 } else { exponent };
        let decimals = (shift as f64 - step.log10().floor()).max(0.0) as usize + usize::from(step == 2.5 * unit);
        let first = (self.low / step - 1e-9).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        let label = |value: f64| minus(&fixed(value / 10f64.powi(shift), decimals));
        let values = (first..=last).take(4 * count).map(|k| k as f64 * step);
        let factor = (shift != 0).then(|| format!("×{}", power_of_ten(shift)));
        Ticks { labelled: values.map(|value| (value, label(value))).collect(), minor: Vec::new(), factor }
    }

    fn decades(&self, count: usize) -> Ticks {
        let inside = |value: f64| (self.low..=self.high).contains(&value.log10());
        let (first, last) = (self.low.floor() as i32, self.high.ceil() as i32);
        let whole = (first..=last).filter(|&k| inside(10f64.powi(k))).count();
        let stride = whole.div_ceil(count.max(1)).max(1) as i32;
        let mut ticks = Ticks::default();
        for exponent in first..=last {
            for digit in 1..=9 {
                let value = f64::from(digit) * 10f64.powi(exponent);
                let label = match digit {
                    _ if !inside(value) => continue,
                    1 if exponent.rem_euclid(stride) == 0 => power_of_ten(exponent),
                    2 | 5 if whole < 3 => format!("{digit}×{}", power_of_ten(exponent)),
                    _ if stride == 1 => {
                        ticks.minor.push(value);
                        continue;
                    }
                    _ => continue,
                };
                ticks.labelled.push((value, label));
            }
        }
        ticks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let labels = |axis: Axis| axis.ticks(5).labelled.into_iter().map(|tick| tick.1).collect::<Vec<_>>();
        assert_eq!(labels(Axis::linear((0.0, 1.0))), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!(labels(Axis::linear((-1.0, 0.2))), ["−1", "−0.8", "−0.6", "−0.4", "−0.2", "0", "0.2"]);
        assert_eq!(labels(Axis::linear((0.0, 2e-4))), ["0", "0.5", "1", "1.5", "2"]);
        assert_eq!(Axis::linear((0.0, 2e-4)).ticks(5).factor.as_deref(), Some("×10⁻⁴"));
        assert_eq!(labels(Axis::logarithmic((1e-4, 1.0))), ["10⁻⁴", "10⁻³", "10⁻²", "10⁻¹", "10⁰"]);
        assert_eq!(labels(Axis::logarithmic((3e-3, 3e-3))), ["10⁻³", "2×10⁻³", "5×10⁻³"]);
        for axis in [Axis::linear((0.1, 0.73)), Axis::logarithmic((2e-7, 4e9)), Axis::linear((5.0, 5.0))] {
            let ticks = axis.ticks(5);
            assert!((2..=10).contains(&ticks.labelled.len()), "{ticks:?}");
            for (value, _) in &ticks.labelled {
                let position = axis.position(*value).expect("a tick can be drawn");
                assert!((-1e-9..=1.0 + 1e-9).contains(&position));
            }
        }
    }

    #[test]
    fn only_finite_values_have_an_extent_and_a_place() {
        assert_eq!(extent([f64::NAN, 2.0, f64::INFINITY, -1.0]), Some((-1.0, 2.0)));
        assert_eq!(extent([f64::NAN, f64::MAX]), None);
        let axis = Axis::logarithmic((1.0, 100.0));
        assert!([0.0, -1.0, f64::NAN, f64::INFINITY].into_iter().all(|value| axis.position(value).is_none()));
        assert!((axis.position(10.0).expect("a place") - 0.5).abs() < 1e-12);
    }

    /// What a label and the factor of its axis say.
    fn read(label: &str, factor: Option<&str>) -> f64 {
        let exponent = factor.map_or(0, |factor| {
            let digits = factor.trim_start_matches("×10").chars();
            let digit = |sign| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().position(|known| known == sign);
            digits.map(|sign| digit(sign).map_or("-".into(), |k| k.to_string())).collect::<String>().parse().unwrap()
        });
        label.replace('−', "-").parse::<f64>().unwrap() * 10f64.powi(exponent)
    }

    proptest! {
        #[test]
        fn ticks_say_where_they_stand(low in -1e6..1e6_f64, exponent in -2..6_i32, count in 2..12_usize) {
            let axis = Axis::linear((low, low + 10f64.powi(exponent)));
            let Ticks { labelled, factor, .. } = axis.ticks(count);
            prop_assert!((1..=(count as f64 / 0.7) as usize + 1).contains(&labelled.len()), "{labelled:?}");
            prop_assert!(labelled.is_sorted_by(|a, b| a.0 < b.0 && a.1 != b.1));
            for (value, label) in &labelled {
                let said = read(label, factor.as_deref());
                prop_assert!((said - value).abs() < 1e-6 * axis.span(), "{value} is called {label} {factor:?}");
            }
        }

        #[test]
        fn larger_values_stand_farther_along(a in 1e-9..1e9_f64, b in 1e-9..1e9_f64, low in 1e-3..1.0_f64, size in 1.0..1e6_f64) {
            for axis in [Axis::linear((low, low + size)), Axis::logarithmic((low, low * size)), Axis::doublings([3, 80])] {
                let (at_a, at_b) = (axis.position(a).unwrap(), axis.position(b).unwrap());
                prop_assert!((at_a - at_b) * (a - b) >= 0.0, "{a} at {at_a}, {b} at {at_b}");
            }
        }
    }

    #[test]
    fn doublings_are_equal_steps_with_room_at_the_ends() {
        let axis = Axis::doublings([4, 1, 16]);
        let places = [1.0, 2.0, 4.0, 8.0, 16.0].map(|value| axis.position(value).unwrap());
        assert!(places.windows(2).all(|pair| (pair[1] - pair[0] - (places[1] - places[0])).abs() < 1e-12));
        assert!(places[0] > 0.0 && places[4] < 1.0 && axis.position(0.0).is_none());
        assert_eq!(Ticks::at([1, 16]).labelled, [(1.0, "1".into()), (16.0, "16".into())]);
    }
}
