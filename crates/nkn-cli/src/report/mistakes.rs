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
#[derive(Debug, Clone, Default)]
pub struct Mistake {
    /// The channels one after the other, each row by row from the top.
    pub pixels: Vec<u8>,
    /// One for grey, three for red, green and blue.
    pub channels: usize,
    /// The number of its class.
    pub truth: usize,
    /// The number of the class it was taken for.
    pub predicted: usize,
    /// The probability that the network gave to the predicted class.
    pub probability: f64,
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
    if part.mistakes.is_empty() {
        let none =
            if total > 0 || part.error_rate > 0.0 { "None of the errors was kept." } else { "There are no errors." };
        return html! { (part.heading("")) p { (none) } };
    }
    let mut mistakes: Vec<&Mistake> = part.mistakes.iter().collect();
    let certainty = |mistake: &Mistake| if mistake.probability.is_nan() { -1.0 } else { mistake.probability };
    mistakes.sort_by(|a, b| certainty(b).total_cmp(&certainty(a)));
    mistakes.truncate(TILES);
    // The list may have been shortened before, which the confusion matrix knows.
    let total = total.max(part.mistakes.len());
    html! {
        (part.heading(&format!("{} of {total} errors, the most confident first", mistakes.len())))
        ul.tiles { @for mistake in mistakes { (tile(mistake, part.side, classes)) } }
    }
}

fn tile(mistake: &Mistake, side: usize, classes: &[String]) -> Markup {
    let [truth, predicted] = [mistake.truth, mistake.predicted].map(|class| class_name(classes, class));
    // A whole number of CSS pixels per pixel, so that all are equally large, unless that is too small.
    let width = if 2 * side > ACROSS { ACROSS } else { ACROSS / side.max(1) * side };
    html! {
        li {
            @if let Some(address) = address(mistake, side) {
                img.pixels width=(width) alt={ (truth) " taken for " (predicted) } src=(address);
            } @else { span.missing { "no picture" } }
            (truth) " → " (predicted) " " small { "(" (rate(mistake.probability)) ")" }
        }
    }
}

/// The image as an address; none if there are not as many bytes as pixels and channels.
fn address(mistake: &Mistake, side: usize) -> Option<String> {
    let area = side * side;
    if area == 0 || mistake.pixels.len() != mistake.channels * area || ![1, 3].contains(&mistake.channels) {
        return None;
    }
    let part = |k: usize, channel: usize| mistake.pixels[channel.min(mistake.channels - 1) * area + k];
    let pixels: Vec<_> = (0..area).map(|k| [0, 1, 2].map(|channel| part(k, channel))).collect();
    Some(pixels::data_uri(side, &pixels))
}

#[cfg(test)]
mod tests {
    use super::super::confusion::tests::{answers, pets};
    use super::*;
    use crate::report::pixels::tests::decode;
    use crate::report::tests::{addresses, assert_well_formed};

    fn mistake(channels: usize, probability: f64) -> Mistake {
        let pixels = (0..channels * 28 * 28).map(|k| (k * 7 % 256) as u8).collect();
        Mistake { pixels, channels, truth: 2, predicted: 0, probability }
    }

    fn part(mistakes: Vec<Mistake>) -> Answers {
        Answers { mistakes, ..answers() }
    }

    #[test]
    fn tiles_are_limited_and_the_most_confident_come_first() {
        let mut mistakes: Vec<_> = (0..30).map(|k| mistake(1, (k * 17 % 30) as f64 / 100.0)).collect();
        mistakes.push(mistake(1, f64::NAN));
        let html = figure(&[part(mistakes), part(Vec::new())], &pets());
        assert_well_formed(&html);
        assert_eq!(html.matches("<img ").count(), TILES);
        assert!(html.contains("24 of 36 errors") && html.contains("None of the errors was kept."));
        let captions: Vec<_> = html.split("fox → cat <small>(").skip(1).map(|rest| &rest[..5]).collect();
        assert_eq!((captions.len(), captions[0], captions[23]), (24, "29.00", "6.00 "));
        assert!(figure(&[Answers { side: 28, ..Answers::default() }], &pets()).contains("There are no errors."));
        assert_eq!(figure(&[], &pets()), "");
    }

    #[test]
    fn pixels_can_be_read_back() {
        let html = figure(&[part(vec![mistake(1, 0.9), mistake(3, 0.8)])], &pets());
        let files: Vec<_> = addresses(&html).into_iter().map(decode).collect();
        let (grey, colors) = (mistake(1, 0.9).pixels, mistake(3, 0.8).pixels);
        assert_eq!(files[0], (28, grey.into_iter().map(|value| [value; 3]).collect()));
        assert_eq!(files[1], (28, (0..784).map(|k| [colors[k], colors[784 + k], colors[1568 + k]]).collect()));
        assert!(html.contains("width=\"112\" alt=\"fox taken for cat\""));
    }

    #[test]
    fn wrong_numbers_of_bytes_have_no_picture() {
        let mut short = mistake(1, 0.5);
        short.pixels.pop();
        let html = figure(&[part(vec![short, mistake(2, 0.5), Mistake::default()])], &pets());
        assert_eq!((html.matches("no picture").count(), html.matches("<img").count()), (3, 0));
    }

    #[test]
    fn names_are_escaped_in_text_and_attributes() {
        let html = figure(&[part(vec![mistake(1, 0.5)])], &["\"<cat>".into(), String::new(), "f&x".into()]);
        assert_well_formed(&html);
        assert!(
            html.contains("alt=\"f&amp;x taken for &quot;&lt;cat&gt;\"") && html.contains("f&amp;x → &quot;&lt;cat")
        );
    }
}
