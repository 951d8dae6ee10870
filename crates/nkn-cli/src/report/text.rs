//! Text and numbers as they stand on the page.

/// What stands where a number is not finite.
pub const NOT_FINITE: &str = "not finite";

/// Escapes text for HTML and SVG, in content and in quoted attributes.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(character),
        }
    }
    escaped
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
    let raised = exponent
        .to_string()
        .chars()
        .map(|c| c.to_digit(10).map_or('⁻', |digit| DIGITS[digit as usize]))
        .collect::<String>();
    format!("10{raised}")
}
