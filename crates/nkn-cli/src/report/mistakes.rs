//! Images that were classified wrongly, the most confident errors first.

use super::confusion::{Answers, class_name};
use super::pixels;
use super::text::rate;
use maud::{Markup, html};

/// The number of tiles per resolution.
pub const TILES: usize = 24;

/// The width of a tile in CSS pixels, at most.
const ACROSS: usize = 112;

/// An image that was classified wrongly.
#[derive(Debug, Clone)]
pub struct Mistake {
    /// The image as the network saw it: red, green and blue, row by row from the top.
    pub pixels: Vec<[u8; 3]>,
    /// Its class, and what it was taken for.
    pub answer: nkn::task::Mistake,
}

/// The tiles of each resolution, or nothing without answers.
pub fn figure(answers: &[Answers], classes: &[String]) -> String {
    if answers.is_empty() {
        return String::new();
    }
    html! {
        p {
            "Truth → prediction (probability of the prediction): where is the network sure and wrong, and would you have \
             known?"
        }
        @for part in answers { (tiles(part, classes)) }
    }
    .into_string()
}

fn tiles(part: &Answers, classes: &[String]) -> Markup {
    let total: usize = part.errors().map(|error| error.2).sum();
    if total == 0 {
        return html! { (part.heading("")) p { "There are no errors." } };
    }
    html! {
        (part.heading(&format!("{} of {total} errors, the most confident first", part.mistakes.len())))
        ul.tiles { @for mistake in &part.mistakes { (tile(mistake, part.measure.resolution, classes)) } }
    }
}

fn tile(Mistake { pixels, answer }: &Mistake, side: usize, classes: &[String]) -> Markup {
    let [truth, predicted] = [answer.truth, answer.answer.class].map(|class| class_name(classes, class));
    // A whole number of CSS pixels per pixel, so that all are equally large, unless that is too small.
    let width = if 2 * side > ACROSS { ACROSS } else { ACROSS / side.max(1) * side };
    html! {
        li {
            img.pixels width=(width) alt={ (truth) " taken for " (predicted) } src=(pixels::data_uri(side, pixels));
            (truth) " → " (predicted) " " small { "(" (rate(f64::from(answer.answer.probability))) ")" }
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::super::confusion::tests::{answers, pets};
    use super::*;
    use crate::report::pixels::tests::decode;
    use crate::report::tests::{addresses, assert_well_formed};
    use nkn::task::Answer;
    use nkn::train::Measure;

    pub fn mistake(probability: f32) -> Mistake {
        let pixels = (0..28 * 28).map(|k| [k % 251, k % 7, 255 - k % 256].map(|part| part as u8)).collect();
        Mistake { pixels, answer: nkn::task::Mistake { image: 0, truth: 2, answer: Answer { class: 0, probability } } }
    }

    fn part(mistakes: Vec<Mistake>) -> Answers {
        Answers { mistakes, ..answers() }
    }

    #[test]
    fn tiles_are_counted_and_captioned() {
        let html = figure(&[part(vec![mistake(0.29), mistake(0.06), mistake(f32::NAN)])], &pets());
        assert_well_formed(&html);
        assert!(html.contains("3 of 36 errors") && !html.contains("There are no errors."));
        let captions: Vec<_> = html.split("fox → cat <small>(").skip(1).map(|rest| &rest[..5]).collect();
        assert_eq!(captions, ["29.00", "6.00 ", "not f"]);
        let perfect = Measure { confusion: vec![vec![4, 0], vec![0, 9]], ..answers().measure };
        assert!(figure(&[Answers { measure: perfect, ..answers() }], &pets()).contains("There are no errors."));
        assert_eq!(figure(&[], &pets()), "");
    }

    #[test]
    fn pixels_can_be_read_back() {
        let html = figure(&[part(vec![mistake(0.9)])], &pets());
        assert_eq!(decode(addresses(&html)[0]), (28, mistake(0.9).pixels));
        assert!(html.contains("width=\"112\" alt=\"fox taken for cat\""));
    }

    #[test]
    fn names_are_escaped_in_text_and_attributes() {
        let html = figure(&[part(vec![mistake(0.5)])], &["\"<cat>".into(), String::new(), "f&x".into()]);
        assert_well_formed(&html);
        assert!(
            html.contains("alt=\"f&amp;x taken for &quot;&lt;cat&gt;\"") && html.contains("f&amp;x → &quot;&lt;cat")
        );
    }
}
