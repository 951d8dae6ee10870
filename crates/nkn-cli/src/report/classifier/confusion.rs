//! Error rates at each resolution, and which classes are taken for which others.

use std::cmp::Reverse;

use super::{ResolutionPart, class_name, rate, size};
use crate::report::tables::table;

/// How opaque the colour of the most frequent error is; the numbers must stay readable on it.
const STRONGEST: f64 = 0.8;

/// The number of confusions that are put into words.
const WORDS: usize = 3;

/// An overview and a matrix per resolution, or nothing without resolutions.
pub fn parts(resolutions: &[ResolutionPart], classes: &[String]) -> String {
    if resolutions.is_empty() {
        return String::new();
    }
    // One scale for all matrices, so that they can be compared.
    let shares = resolutions.iter().flat_map(|part| part.errors().map(|error| share(part, error)));
    let largest = shares.fold(0.0, f64::max);
    let matrices = resolutions.iter().map(|part| {
        let heading = part.heading(&remark(part));
        heading + &matrix(part, classes, largest) + &words(part, classes)
    });
    let matrices: String = matrices.collect();
    overview(resolutions) + &matrices
}

/// The share of a truth's images that were taken for another class.
fn share(part: &ResolutionPart, (truth, _, count): (usize, usize, usize)) -> f64 {
    count as f64 / part.images_of(truth) as f64
}

fn remark(part: &ResolutionPart) -> String {
    let official = part.official_error_rate.map(|error| format!("; {} on the official test set", rate(error)));
    format!("error rate {} on {} images{}", rate(part.error_rate), part.count, official.unwrap_or_default())
}

/// The error rates in one table.
fn overview(resolutions: &[ResolutionPart]) -> String {
    let with_official = resolutions.iter().any(|part| part.official_error_rate.is_some());
    let official = if with_official { "<th scope=\"col\">error rate<span>official test set</span></th>" } else { "" };
    let head = format!(
        "<th scope=\"col\">resolution</th><th scope=\"col\">images</th><th scope=\"col\">error rate</th>{official}"
    );
    let row = |part: &ResolutionPart| {
        let mark = if part.is_training { "<span class=\"mark\">training grid</span>" } else { "" };
        let official = match part.official_error_rate {
            _ if !with_official => String::new(),
            Some(error) => format!("<td>{}</td>", rate(error)),
            None => "<td class=\"none\">–</td>".to_owned(),
        };
        format!(
            "<tr><th scope=\"row\">{}{mark}</th><td>{}</td><td><b>{}</b></td>{official}</tr>\n",
            size(part.side),
            part.count,
            rate(part.error_rate)
        )
    };
    let caption = "<strong>Error rates of the same weights.</strong> A neural operator should keep its error rate on \
                   grids that it was not trained on.";
    table("errors", caption, &head, &resolutions.iter().map(row).collect::<String>())
}

/// The confusion matrix with the totals of its rows; nothing if it is empty.
fn matrix(part: &ResolutionPart, classes: &[String], largest: f64) -> String {
    let columns = part.confusion.iter().map(Vec::len).max().unwrap_or(0);
    if columns == 0 {
        return String::new();
    }
    let names: String = (0..columns).map(|j| format!("<th scope=\"col\">{}</th>", class_name(classes, j))).collect();
    let head = format!("<th scope=\"col\">truth ↓ predicted →</th>{names}<th scope=\"col\" class=\"row\">wrong</th>");
    let row = |(truth, counts): (usize, &Vec<usize>)| {
        let images = part.images_of(truth);
        let cell = |(predicted, &count): (usize, &usize)| match count {
            _ if predicted == truth => format!("<td class=\"hit\">{count}</td>"),
            0 => "<td class=\"none\">0</td>".to_owned(),
            _ => {
                let strength = STRONGEST * share(part, (truth, predicted, count)) / largest;
                format!("<td class=\"wrong\" style=\"--share: {strength:.3}\">{count}</td>")
            }
        };
        let cells: String = counts.iter().enumerate().map(cell).collect();
        let padding = "<td></td>".repeat(columns - counts.len());
        let wrong = images - counts.get(truth).copied().unwrap_or(0);
        let wrong = if images > 0 { rate(wrong as f64 / images as f64) } else { "–".to_owned() };
        let name = class_name(classes, truth);
        format!("<tr><th scope=\"row\">{name}</th>{cells}{padding}<td class=\"row\">{wrong}</td></tr>\n")
    };
    let body: String = part.confusion.iter().enumerate().map(row).collect();
    let scale = if largest > 0.0 {
        format!(
            " Share of the row's images: 0 <span class=\"ramp\"></span> {}, the same scale at all resolutions.",
            rate(largest)
        )
    } else {
        String::new()
    };
    let caption = format!(
        "<strong>What is taken for what, at {}?</strong> Numbers of images, truth in rows, prediction in columns; the \
         diagonal, without colour, is right.{scale}",
        size(part.side)
    );
    table("confusion", &caption, &head, &body)
}

/// The most frequent confusions in words.
fn words(part: &ResolutionPart, classes: &[String]) -> String {
    if part.confusion.is_empty() {
        return String::new();
    }
    let mut errors: Vec<_> = part.errors().collect();
    errors.sort_by_key(|&(truth, predicted, count)| (Reverse(count), truth, predicted));
    let item = |&error: &(usize, usize, usize)| {
        let (truth, predicted, count) = error;
        format!(
            "<li><b>{}</b> taken for <b>{}</b>: {count} of {} images ({})</li>\n",
            class_name(classes, truth),
            class_name(classes, predicted),
            part.images_of(truth),
            rate(share(part, error))
        )
    };
    let items: String = errors.iter().take(WORDS).map(item).collect();
    if items.is_empty() {
        return "<p class=\"lead\">No class was taken for another.</p>\n".to_owned();
    }
    format!("<p class=\"lead\">The most frequent confusions:</p>\n<ol class=\"confusions\">\n{items}</ol>\n")
}
