//! The page says what is in the data, and is well formed whatever they are.

use super::*;
use crate::report::color::{ColorMap, hex};
use crate::report::tests::{assert_well_formed, decode, text_of};

/// Two resolutions, three classes and a kernel.
fn complete() -> ClassifierPage {
    let part = |side, is_training| ResolutionPart {
        side,
        is_training,
        error_rate: 0.123_45,
        official_error_rate: is_training.then_some(0.101),
        count: 377,
        confusion: vec![vec![91, 7, 2], vec![0, 50, 11], vec![13, 3, 200]],
        wrong: vec![example(1, side), example(3, side)],
    };
    ClassifierPage {
        title: "Pets".into(),
        summary: vec![("parameters".into(), "67,016".into())],
        classes: ["cat", "dog", "fox"].map(String::from).into(),
        curves: (1..=30)
            .map(|epoch| CurvePoint {
                epoch,
                train_loss: 1.0 / epoch as f64,
                errors: if epoch % 3 == 0 { vec![(28, 0.9 / epoch as f64), (14, 0.95)] } else { Vec::new() },
            })
            .collect(),
        resolutions: vec![part(14, false), part(28, true)],
        stencils: vec![stencil()],
    }
}

fn example(channels: usize, side: usize) -> WrongExample {
    let pixels = (0..channels * side * side).map(|k| (k * 7 % 256) as u8).collect();
    WrongExample { pixels, channels, side, truth: 2, predicted: 0, probability: 0.875 }
}

/// Three neighbours of one pixel, with 2 × 2 blocks: entry (2, 1) varies most, then (1, 2), (1, 1) and (2, 2).
fn stencil() -> StencilPart {
    StencilPart {
        title: "layer".into(),
        radius: 2.5,
        x: (13.5, 7.0),
        offsets: vec![(2.0, 0.0), (0.0, 2.0), (-2.0, -2.0)],
        cell: 2.0,
        blocks: vec![vec![0.2, 3.0, -4.0, 1.0], vec![0.1, 0.0, 4.0, 1.0], vec![0.0, 0.0, 0.5, 1.0]],
        width: 2,
    }
}

/// The files in the addresses of the page's images with this tag.
fn images(html: &str, tag: &str) -> Vec<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let file = |text: &str| -> Vec<u8> {
        let digits: Vec<u8> = text.trim_end_matches('=').bytes().map(digit).collect();
        let bits = |four: &[u8]| (0..4).fold(0u32, |bits, k| bits << 6 | u32::from(*four.get(k).unwrap_or(&0)));
        digits.chunks(4).flat_map(|four| bits(four).to_be_bytes()[1..four.len()].to_vec()).collect()
    };
    let tags = html.split(tag).skip(1);
    let address = |tag: &str| tag.split_once("base64,")?.1.split_once('"').map(|parts| file(parts.0));
    tags.filter_map(address).collect()
}

#[test]
fn a_complete_page_is_well_formed_and_needs_nothing_else() {
    let html = page(&complete());
    assert_well_formed(&html);
    let headings = ["Training", "Errors and confusions", "Wrong examples", "Learned kernels"];
    let places = headings.map(|heading| html.find(&format!("<h2>{heading}</h2>")).expect(heading));
    assert!(places.is_sorted(), "{places:?}");
    for outside in ["<script", "<link", "http", "@import", "url("] {
        assert!(!text_of(&html).contains(outside), "{outside}");
    }
    let addresses = html.split("src=\"").chain(html.split("href=\"")).filter(|part| !part.starts_with("<!DOCTYPE"));
    assert!(addresses.clone().count() > 4 && addresses.clone().all(|part| part.starts_with("data:image/png;base64,")));
    assert!(html.contains("<dt>parameters</dt><dd>67,016</dd>"));
}

#[test]
fn the_matrix_has_the_counts_and_colours_shares_of_rows() {
    let html = page(&complete());
    // The largest share is 11 of 61; 13 of 216 is less although more images.
    let row = |name: &str| {
        let start = html.find(&format!("<tr><th scope=\"row\">{name}</th>")).expect(name);
        html[start..].split_once("</tr>").expect("a row ends").0
    };
    let dog = "<td class=\"none\">0</td><td class=\"hit\">50</td><td class=\"wrong\" style=\"--share: 0.800\">11</td>";
    assert!(row("dog").contains(dog), "{}", row("dog"));
    assert!(row("fox").contains("style=\"--share: 0.267\">13<") && row("fox").contains("<td class=\"hit\">200</td>"));
    assert!(row("fox").contains(">7.41 %<") && html.contains("18.03 %, the same scale"));
    assert!(html.contains("error rate 12.35 % on 377 images; 10.10 % on the official test set"));
    let words = ["fox</b> taken for <b>cat</b>: 13 of 216 images (6.02 %)", "dog</b> taken for <b>fox</b>: 11 of 61"];
    let places = words.into_iter().chain(["cat</b> taken for <b>dog</b>: 7 of 100 images (7.00 %)"]);
    let places: Vec<_> = places.map(|text| html.find(text).expect(text)).collect();
    assert!(places.is_sorted(), "{places:?}");
    assert_eq!(html.matches(" taken for <b>").count(), 2 * 3);
}

#[test]
fn tiles_are_limited_and_the_most_confident_come_first() {
    let mut data = complete();
    let wrong = |k: usize| WrongExample { probability: (k * 17 % 30) as f64 / 100.0, ..example(1, 14) };
    data.resolutions[0].wrong = (0..30).map(wrong).collect();
    data.resolutions[0].wrong.push(WrongExample { probability: f64::NAN, ..example(1, 14) });
    data.resolutions[1].wrong.clear();
    let html = page(&data);
    assert_eq!(html.matches("<img ").count(), 24);
    assert!(html.contains("24 of 36 errors") && html.contains("None of the errors was kept."));
    let captions: Vec<_> = html.split("fox → cat <small>(").skip(1).map(|rest| &rest[..5]).collect();
    assert_eq!((captions.len(), captions[0], captions[23]), (24, "29.00", "6.00 "));
    data.resolutions[1] = ResolutionPart { side: 28, ..ResolutionPart::default() };
    assert!(page(&data).contains("There are no errors."));
}

#[test]
fn pixels_can_be_read_back() {
    let html = page(&complete());
    let files = images(&html, "<img ");
    assert_eq!(files.len(), 4);
    assert_eq!(decode(&files[0]), (14, 14, example(1, 14).pixels));
    let colors = example(3, 14).pixels;
    let interleaved = (0..14 * 14).flat_map(|k| [colors[k], colors[196 + k], colors[392 + k]]).collect();
    assert_eq!(decode(&files[1]), (14, 14, interleaved));
    assert_eq!((files[0][25], files[1][25]), (3, 2), "colours from a palette, colours");
    assert!(html.contains("width=\"112\" alt=\"fox taken for cat\""));
    let mut data = complete();
    data.resolutions[0].wrong[0].pixels.pop();
    data.resolutions[0].wrong[1].channels = 2;
    assert_eq!(page(&data).matches("no picture").count(), 2);
}

#[test]
fn missing_parts_are_left_out_or_explained() {
    let html = page(&ClassifierPage::default());
    assert_well_formed(&html);
    assert!(["<h2", "<figure", "<table", "<dl", "<svg", "<img"].iter().all(|tag| !html.contains(tag)));
    let mut data = ClassifierPage { stencils: Vec::new(), ..complete() };
    assert!(!page(&data).contains("Learned kernels"));
    data.classes.pop();
    data.resolutions[0].confusion = vec![vec![3, 0], vec![0, 4], vec![]];
    data.resolutions[1].confusion.clear();
    let html = page(&data);
    assert_well_formed(&html);
    assert!(html.contains("2 → cat") && html.contains("No class was taken for another."));
    data.stencils = vec![stencil()];
    data.stencils[0].blocks.pop();
    assert!(page(&data).contains("so there is no picture") && !page(&data).contains("‖w K‖"));
}

#[test]
fn text_is_escaped() {
    let mut data = complete();
    let attack = "<script>alert('&\"')</script>{title}";
    data.title = attack.into();
    data.summary.push((attack.into(), attack.into()));
    data.classes.fill(attack.into());
    data.stencils[0].title = attack.into();
    let html = page(&data);
    assert_well_formed(&html);
    assert!(!html.contains("<script") && html.contains("{title}") && html.contains("&lt;script&gt;"));
}

#[test]
fn numbers_that_are_not_finite_do_not_break_the_page() {
    for value in [f64::NAN, f64::INFINITY, -f64::MAX, 0.0] {
        let mut data = complete();
        data.curves[2].train_loss = value;
        data.curves[5].errors[0].1 = value;
        data.curves[29].errors[1].1 = value;
        data.resolutions[0].error_rate = value;
        data.resolutions[0].wrong[0].probability = value;
        data.stencils[0].blocks[0][1] = value;
        data.stencils.push(StencilPart { radius: value, ..stencil() });
        let html = page(&data);
        assert_well_formed(&html);
        let text = text_of(&html);
        assert!(!text.contains("NaN") && !text.contains(">inf") && !text.contains(" inf"), "{value}");
        assert_eq!(text.contains("Grey squares"), value != 0.0, "{value}");
    }
}

#[test]
fn each_resolution_has_a_line_and_epochs_are_whole() {
    let mut data = complete();
    let html = page(&data);
    assert!(html.contains(">14 × 14</text>") && html.contains(">28 × 28 (training)</text>"));
    // In the legend and in the plot.
    assert_eq!(html.matches("class=\"line c0\"").count() + html.matches("class=\"line dashed c1\"").count(), 4);
    assert!([">5 %<", ">50 %<", ">epoch<", ">error rate<", ">training loss<"].iter().all(|text| html.contains(text)));
    assert!(html.contains("95.00 % at 14 × 14, 3.00 % at 28 × 28 (training)"));
    assert!(!html.contains(">200 %<"));
    data.curves.truncate(3);
    let html = page(&data);
    assert!(html.contains(">2</text>") && !html.contains(">2.5</text>"));
    data.curves.iter_mut().for_each(|point| point.errors.clear());
    assert!(!page(&data).contains(">error rate</text>") && page(&data).contains(">training loss</text>"));
}

#[test]
fn kernels_are_drawn_where_they_act() {
    let html = page(&complete());
    assert!(html.contains("at the pixel (13.5, 7), radius 2.5 pixels, 3 neighbours"));
    // The first neighbour, to the right, has the largest norm; the second, below, the largest entry (2, 1).
    let (viridis, red) = (hex(ColorMap::Viridis.rgb(63)), hex(ColorMap::BlueWhiteRed.rgb(63)));
    let panels: Vec<_> = html.split("<g class=\"cells\"").skip(1).collect();
    assert_eq!(panels.len(), 1 + 4);
    let below = "M-1 1h2v2h-2z";
    assert!(panels[0].contains(&format!("<path fill=\"{viridis}\" d=\"M1 -1h2v2h-2z\"/>")), "‖(0.2, 3, -4, 1)‖");
    assert!(panels[1].contains(&format!("<path fill=\"{red}\" d=\"{below}\"/>")));
    let names = ["(2, 1)", "(1, 2)", "(1, 1)", "(2, 2)"].map(|name| html.find(&format!(">{name}<")).expect(name));
    assert!(names.is_sorted(), "{names:?}");
    let mut data = complete();
    data.stencils[0].width = 5;
    data.stencils[0].blocks = (0..3).map(|k| (0..25).map(|entry| f64::from(k * entry)).collect()).collect();
    let html = page(&data);
    assert!(html.contains("the 16 of its 25 entries") && html.contains(">(5, 5)<") && !html.contains(">(1, 1)<"));
}
