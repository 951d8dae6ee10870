//! Text and numbers as they stand on the page.

/// What stands where a number is not finite.
pub const NOT_FINITE: &str = "not finite";

/// Escapes text for HTML and SVG, in content and in quoted attributes.
pub fn escape(text: &str) -> String {
    // Ampersands first: the others bring new ones.
    let signs = [('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;"), ('\'', "&#39;")];
    signs.into_iter().fold(text.to_owned(), |text, (sign, entity)| text.replace(sign, entity))
}

/// An error as in 2.32e-3.
pub fn scientific(value: f64) -> String {
    if !value.is_finite() {
        NOT_FINITE.to_owned()
    } else if value == 0.0 {
        "0".to_owned()
    } else {
        minus(&format!("{value:.2e}"))
    }
}

/// A number with four significant digits, fixed-point where that is readable.
pub fn compact(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() || (size != 0.0 && !(1e-3..1e5).contains(&size)) {
        return scientific(value);
    }
    let whole_digits = if size == 0.0 { 0 } else { size.log10().floor() as i32 };
    minus(&fixed(value, (3 - whole_digits).max(0) as usize))
}

/// A positive number with two significant digits, as in 2.1.
pub fn two_digits(value: f64) -> String {
    if !(1e-3..1e4).contains(&value) {
        return scientific(value);
    }
    // 0.996 is rounded to 1.0, not to 1.00.
    let whole_digits = (1.005 * value).log10().floor();
    format!("{value:.*}", (1.0 - whole_digits).max(0.0) as usize)
}

/// An error in percent, as in 2.1 %; tiny and huge ones as in 2.32e-6.
pub fn percent(value: f64) -> String {
    if (1e-5..1e2).contains(&value) { format!("{} %", two_digits(100.0 * value)) } else { scientific(value) }
}

/// An error rate or a probability, as in 1.23 %.
pub fn rate(value: f64) -> String {
    if value.is_finite() { format!("{:.2} %", 100.0 * value) } else { NOT_FINITE.to_owned() }
}

/// The size of a square image or grid.
pub fn size(side: usize) -> String {
    format!("{side} × {side}")
}

/// Fixed-point with at most so many decimals, without trailing zeros and without a negative zero.
pub fn fixed(value: f64, decimals: usize) -> String {
    let mut digits = format!("{value:.decimals$}");
    if digits.contains('.') {
        digits.truncate(digits.trim_end_matches('0').trim_end_matches('.').len());
    }
    if digits == "-0" { "0".to_owned() } else { digits }
}

/// The typographic minus sign in front of a number; exponents keep the hyphen, so that they can be copied.
pub fn minus(digits: &str) -> String {
    digits.strip_prefix('-').map_or_else(|| digits.to_owned(), |rest| format!("\u{2212}{rest}"))
}

/// A power of ten with a raised exponent, as in 10⁻³.
pub fn power_of_ten(exponent: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let raise = |sign: char| sign.to_digit(10).map_or('⁻', |digit| DIGITS[digit as usize]);
    format!("10{}", exponent.to_string().chars().map(raise).collect::<String>())
}

/// The names in the order in which they first occur.
pub fn unique<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut result = Vec::new();
    for name in names {
        if !result.contains(&name) {
            result.push(name);
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn markup_is_escaped() {
        assert_eq!(escape("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
    }

    #[test]
    fn numbers_are_readable() {
        assert_eq!([0.002_318, f64::NAN, 0.0].map(scientific), ["2.32e-3", "not finite", "0"]);
        assert_eq!([0.25, -12.3456, 1.0 / 3.0, -3e-7].map(compact), ["0.25", "−12.35", "0.3333", "−3.00e-7"]);
        assert_eq!([2.14, 0.996, 12.3, 0.0512, 1.0].map(two_digits), ["2.1", "1.0", "12", "0.051", "1.0"]);
        assert_eq!([0.0213, 1.5, 3.2e-4].map(percent), ["2.1 %", "150 %", "0.032 %"]);
        assert_eq!([1e-7, f64::NAN, f64::MAX].map(percent), ["1.00e-7", "not finite", "1.80e308"]);
        assert_eq!([0.123_45, f64::INFINITY].map(rate), ["12.35 %", "not finite"]);
        assert_eq!((power_of_ten(-12).as_str(), size(28).as_str()), ("10⁻¹²", "28 × 28"));
    }

    #[test]
    fn zero_has_no_sign_and_no_decimals() {
        assert_eq!([fixed(-1e-9, 3), fixed(1.50, 2), fixed(100.0, 0)], ["0", "1.5", "100"]);
        assert_eq!([minus("-3e-4"), minus("2")], ["−3e-4", "2"]);
    }

    #[test]
    fn names_keep_their_first_place() {
        assert_eq!(unique(["b", "a", "b", "c", "a"].into_iter()), ["b", "a", "c"]);
    }

    proptest! {
        /// To the digits that are shown.
        #[test]
        fn written_numbers_can_be_read_back(digits in 1.0..9.999_f64, exponent in -12..12_i32, is_negative: bool) {
            let size = digits * 10f64.powi(exponent);
            let value = if is_negative { -size } else { size };
            let is_near = |text: &str, value: f64, share: f64| {
                let read: f64 = text.replace('−', "-").parse().unwrap();
                (read - value).abs() <= 1.001 * share * value.abs()
            };
            prop_assert!(is_near(&scientific(value), value, 5e-3), "{}", scientific(value));
            let share = if (1e-3..1e5).contains(&size) { 5e-4 } else { 5e-3 };
            prop_assert!(is_near(&compact(value), value, share), "{}", compact(value));
            prop_assert!(is_near(&two_digits(size), size, 5e-2), "{}", two_digits(size));
            let share = percent(size);
            let (text, factor) = share.strip_suffix(" %").map_or((share.as_str(), 1.0), |text| (text, 1e-2));
            prop_assert!((text.parse::<f64>().unwrap() * factor - size).abs() <= 0.051 * size, "{share}");
            // Nothing is said that is not needed.
            let fixed = fixed(value, 6);
            prop_assert!(!fixed.contains('.') || !fixed.ends_with(['0', '.']), "{fixed}");
        }

        #[test]
        fn escaped_text_has_no_markup(text in "[a-z<>&\"' ]{0,20}") {
            let escaped = escape(&text);
            prop_assert!(!escaped.contains(['<', '>', '"', '\'']));
            let signs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
            prop_assert_eq!(signs.into_iter().fold(escaped, |text, (entity, sign)| text.replace(entity, sign)), text);
        }
    }
}
