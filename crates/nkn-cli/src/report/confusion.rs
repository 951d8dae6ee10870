//! Which classes are taken for which others, at each resolution.

use super::mistakes::Mistake;
use super::text::{rate, size};
use maud::{Markup, html};
use nkn::train::Measure;
use std::cmp::Reverse;

/// How opaque the colour of the most frequent error is; the numbers must stay readable on it.
const STRONGEST: f64 = 0.8;

/// The number of confusions that are put into words.
const WORDS: usize = 3;

/// The answers of a classifier to images of one size.
#[derive(Debug, Clone)]
pub struct Answers {
    /// Whether the network was trained on images of this size.
    pub is_training: bool,
    /// The size of the images, how many of them were classified wrongly, and which were taken for what.
    pub measure: Measure,
    /// The most confident errors.
    pub mistakes: Vec<Mistake>,
}

/// The name of a class; its number if it has no name.
pub fn class_name(classes: &[String], class: usize) -> String {
    classes.get(class).filter(|name| !name.is_empty()).map_or_else(|| class.to_string(), String::clone)
}

impl Answers {
    /// The number of images of a class.
    fn images_of(&self, truth: usize) -> usize {
        self.measure.confusion[truth].iter().sum()
    }

    /// Truth, prediction and count of each kind of error that occurred.
    pub fn errors(&self) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
        let entries = self.measure.confusion.iter().enumerate();
        let entries = entries.flat_map(|(truth, row)| row.iter().enumerate().map(move |(j, &count)| (truth, j, count)));
        entries.filter(|&(truth, predicted, count)| truth != predicted && count > 0)
    }

    /// The share of a truth's images that were taken for another class.
    fn share(&self, (truth, _, count): (usize, usize, usize)) -> f64 {
        count as f64 / self.images_of(truth) as f64
    }

    /// The heading of the resolution's part of a section, with a remark.
    pub fn heading(&self, remark: &str) -> Markup {
        html! {
            h3 {
                (size(self.measure.resolution)) " pixels" @if self.is_training { ", the training resolution" } " "
                span.aside { (remark) }
            }
        }
    }
}

/// A matrix per resolution, or nothing without answers.
pub fn figure(answers: &[Answers], classes: &[String]) -> String {
    // One scale for all matrices, so that they can be compared.
    let largest = answers.iter().flat_map(|part| part.errors().map(|error| part.share(error))).fold(0.0, f64::max);
    let part = |part: &Answers| {
        let images: usize = part.measure.confusion.iter().flatten().sum();
        let heading = part.heading(&format!("error rate {} on {images} images", rate(part.measure.value)));
        html! { (heading) (matrix(part, classes, largest)) (words(part, classes)) }
    };
    answers.iter().map(|one| part(one).into_string()).collect()
}

/// The confusion matrix with the share of errors in each row.
fn matrix(part: &Answers, classes: &[String], largest: f64) -> Markup {
    let confusion = &part.measure.confusion;
    let wrong = |truth: usize| match part.images_of(truth) {
        0 => "–".to_owned(),
        images => rate((images - confusion[truth][truth]) as f64 / images as f64),
    };
    let strength = |error| format!("--share: {:.3}", STRONGEST * part.share(error) / largest);
    html! {
        div.scroll { table.confusion {
            caption {
                strong { "What is taken for what, at " (size(part.measure.resolution)) "?" }
                " Numbers of images, truth in rows, prediction in columns; the diagonal, without colour, is right."
                @if largest > 0.0 {
                    " Share of the row's images: 0 " span.ramp {} " " (rate(largest)) ", the same scale at all resolutions."
                }
            }
            thead { tr {
                th scope="col" { "truth ↓ predicted →" }
                @for class in 0..confusion.len() { th scope="col" { (class_name(classes, class)) } }
                th.row scope="col" { "wrong" }
            } }
            tbody {
                @for (truth, counts) in confusion.iter().enumerate() {
                    tr {
                        th scope="row" { (class_name(classes, truth)) }
                        @for (predicted, &count) in counts.iter().enumerate() {
                            @if predicted == truth { td.hit { (count) } }
                            @else if count == 0 { td.none { "0" } }
                            @else { td.wrong style=(strength((truth, predicted, count))) { (count) } }
                        }
                        td.row { (wrong(truth)) }
                    }
                }
            }
        } }
    }
}

/// The most frequent confusions in words.
fn words(part: &Answers, classes: &[String]) -> Markup {
    let mut errors: Vec<_> = part.errors().collect();
    errors.sort_by_key(|&(truth, predicted, count)| (Reverse(count), truth, predicted));
    html! {
        @if errors.is_empty() { p.lead { "No class was taken for another." } }
        @else {
            p.lead { "The most frequent confusions:" }
            ol.confusions {
                @for &(truth, predicted, count) in errors.iter().take(WORDS) {
                    li {
                        b { (class_name(classes, truth)) } " taken for " b { (class_name(classes, predicted)) }
                        ": " (count) " of " (part.images_of(truth)) " images (" (rate(part.share((truth, predicted, count)))) ")"
                    }
                }
            }
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::report::tests::assert_well_formed;

    pub fn answers() -> Answers {
        let confusion = vec![vec![91, 7, 2], vec![0, 50, 11], vec![13, 3, 200]];
        let (split, metric) = ("official".into(), "error_rate".into());
        let measure = Measure { split, resolution: 28, metric, value: 0.123_45, confusion };
        Answers { is_training: true, measure, mistakes: Vec::new() }
    }

    pub fn pets() -> Vec<String> {
        ["cat", "dog", "fox"].map(String::from).into()
    }

    #[test]
    fn the_matrix_has_the_counts_and_colours_shares_of_rows() {
        let small = Measure { resolution: 14, ..answers().measure };
        let html = figure(&[answers(), Answers { is_training: false, measure: small, ..answers() }], &pets());
        assert_well_formed(&html);
        let row = |name: &str| {
            let start = html.find(&format!("<tr><th scope=\"row\">{name}</th>")).expect(name);
            html[start..].split_once("</tr>").expect("a row ends").0
        };
        // The largest share is 11 of 61; 13 of 216 is less although more images.
        let dog =
            "<td class=\"none\">0</td><td class=\"hit\">50</td><td class=\"wrong\" style=\"--share: 0.800\">11</td>";
        assert!(row("dog").contains(dog), "{}", row("dog"));
        assert!(row("fox").contains("style=\"--share: 0.267\">13<") && row("fox").contains(">7.41 %<"));
        assert!(html.contains("18.03 %, the same scale") && html.contains("error rate 12.35 % on 377 images"));
        assert!(html.contains("28 × 28 pixels, the training resolution") && html.contains("14 × 14 pixels <span"));
    }

    #[test]
    fn the_most_frequent_confusions_are_put_into_words() {
        let html = figure(&[answers()], &pets());
        let words =
            ["fox</b> taken for <b>cat</b>: 13 of 216 images (6.02 %)", "dog</b> taken for <b>fox</b>: 11 of 61"];
        let words = words.into_iter().chain(["cat</b> taken for <b>dog</b>: 7 of 100 images (7.00 %)"]);
        assert!(words.map(|text| html.find(text).expect(text)).is_sorted());
        assert_eq!(html.matches(" taken for <b>").count(), 3);
    }

    #[test]
    fn missing_names_classes_and_errors() {
        assert_eq!(figure(&[], &pets()), "");
        let confusion = vec![vec![3, 0, 0], vec![0, 4, 0], vec![0; 3]];
        let perfect = Measure { confusion, value: f64::NAN, ..answers().measure };
        let html = figure(&[Answers { measure: perfect, ..answers() }], &pets()[..1]);
        assert_well_formed(&html);
        assert!(html.contains("No class was taken for another.") && html.contains("<th scope=\"row\">2</th>"));
        assert!(html.contains("error rate not finite on 7 images") && !html.contains("the same scale"));
        assert!(html.contains("<td class=\"row\">–</td>"), "a class without images");
    }

    #[test]
    fn names_are_escaped() {
        let html = figure(&[answers()], &["<cat>".into(), "d&g".into(), "\"fox\"".into()]);
        assert_well_formed(&html);
        assert!(html.contains("&lt;cat&gt;") && html.contains("d&amp;g") && html.contains("&quot;fox&quot;"));
        assert!(!html.contains("<cat>"));
    }
}
