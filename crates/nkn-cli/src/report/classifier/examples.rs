//! Images that were classified wrongly, the most confident errors first.

use super::{ResolutionPart, WrongExample, class_name, rate};
use crate::report::png;

/// The number of tiles per resolution.
const TILES: usize = 24;

/// The width of a tile in CSS pixels, at most.
const ACROSS: usize = 112;

/// The tiles of each resolution, or nothing without resolutions.
pub fn parts(resolutions: &[ResolutionPart], classes: &[String]) -> String {
    if resolutions.is_empty() {
        return String::new();
    }
    let parts: String = resolutions.iter().map(|part| tiles(part, classes)).collect();
    format!(
        "<p>Truth → prediction (probability of the prediction): where is the network sure and wrong, and would you have \
         known?</p>\n{parts}"
    )
}

fn tiles(part: &ResolutionPart, classes: &[String]) -> String {
    let total: usize = part.errors().map(|error| error.2).sum();
    if part.wrong.is_empty() {
        let none =
            if total > 0 || part.error_rate > 0.0 { "None of the errors was kept." } else { "There are no errors." };
        return format!("{}<p>{none}</p>\n", part.heading(""));
    }
    let mut wrong: Vec<&WrongExample> = part.wrong.iter().collect();
    let certainty = |example: &WrongExample| if example.probability.is_nan() { -1.0 } else { example.probability };
    wrong.sort_by(|a, b| certainty(b).total_cmp(&certainty(a)));
    wrong.truncate(TILES);
    // The list may have been shortened before, which the confusion matrix knows.
    let remark = format!("{} of {} errors, the most confident first", wrong.len(), total.max(part.wrong.len()));
    let items: String = wrong.iter().map(|example| tile(example, classes)).collect();
    format!("{}<ul class=\"tiles\">\n{items}</ul>\n", part.heading(&remark))
}

fn tile(example: &WrongExample, classes: &[String]) -> String {
    let [truth, predicted] = [example.truth, example.predicted].map(|class| class_name(classes, class));
    let picture = match address(example) {
        Some(address) => format!(
            "<img class=\"pixels\" width=\"{}\" alt=\"{truth} taken for {predicted}\" src=\"{address}\"/>",
            across(example.side)
        ),
        None => "<span class=\"missing\">no picture</span>".to_owned(),
    };
    format!("<li>{picture}{truth} → {predicted} <small>({})</small></li>\n", rate(example.probability))
}

/// The width of a tile: a whole number of CSS pixels per pixel, so that all are equally large, unless that is too small.
fn across(side: usize) -> usize {
    if 2 * side > ACROSS { ACROSS } else { ACROSS / side * side }
}

/// The image as an address; none if there are not as many bytes as pixels and channels.
fn address(example: &WrongExample) -> Option<String> {
    let area = example.side * example.side;
    if area == 0 || example.pixels.len() != example.channels * area {
        return None;
    }
    match example.channels {
        1 => {
            let greys: Vec<[u8; 3]> = (0..=255).map(|grey| [grey; 3]).collect();
            Some(png::data_uri(example.side, &greys, &example.pixels))
        }
        3 => {
            let colors: Vec<[u8; 3]> =
                (0..area).map(|k| [0, 1, 2].map(|channel| example.pixels[channel * area + k])).collect();
            Some(png::color_data_uri(example.side, &colors))
        }
        _ => None,
    }
}
