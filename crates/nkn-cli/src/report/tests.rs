//! The page is well formed and honest for good, missing and broken data.

use super::png::{adler32, base64, crc32, encode};
use super::scale::{Axis, extent};
use super::text::{compact, escape, percent, power_of_ten, scientific, two_digits};
use super::*;

/// A small report with every section.
fn complete() -> ReportData {
    let x: Vec<f64> = (0..70).map(|k| f64::from(k) / 69.0).collect();
    let wave: Vec<f64> = x.iter().map(|x| (6.0 * x).sin()).collect();
    let matrix: Vec<f64> = x.iter().flat_map(|a| x.iter().map(move |b| a.min(*b) * (1.0 - a.max(*b)))).collect();
    let row = |depth, split: &str, resolution| ErrorRow {
        depth,
        split: split.into(),
        resolution,
        relative_l2: 2.32e-3,
        relative_l2_squared: 5.4e-6,
    };
    ReportData {
        title: "Poisson".into(),
        summary: "A test.".into(),
        facts: vec![("parameters".into(), "67,016".into())],
        curves: [1, 2]
            .map(|depth| Curve {
                depth,
                epoch: (1..100).map(f64::from).collect(),
                train: (1..100).map(|k| 1.0 / f64::from(k)).collect(),
                test: vec![f64::NAN, 0.9],
            })
            .into(),
        samples: vec![Sample {
            index: 7,
            x: x.clone(),
            input: wave.clone(),
            truth: wave.clone(),
            prediction: wave,
            relative_l2: 1e-3,
        }],
        green: Some(Green { x, effective: matrix.clone(), exact: matrix, depth: 2 }),
        spectra: vec![Spectrum {
            depth: 2,
            step: 0.5,
            eigenvalues: vec![(0.1, 0.0), (3.0, 0.4), (3.0, -0.4)],
            amplification: 0.95,
            smallest_symmetric: -0.02,
            stable_from: None,
        }],
        fields: vec![field(9, 5), field(3, 7), field(3, 5)],
        matrix: Some(ResolutionMatrix {
            trained_at: 31,
            resolutions: vec![16, 31, 61],
            rows: vec![
                matrix_row(1, "mean", Some(0.02), &[Some(0.06), Some(0.025), Some(0.03)]),
                matrix_row(2, "mean", Some(0.01), &[Some(0.04), Some(0.02), Some(0.02)]),
                matrix_row(2, "overlap", None, &[None, Some(0.021)]),
            ],
        }),
        errors: vec![row(1, "train", 50), row(1, "test", 50), row(2, "test", 200)],
        growth: vec![Growth {
            quantity: "nodes".into(),
            setting: "Measured <once>.".into(),
            points: vec![(1.0, 0.1), (10.0, 1.0), (100.0, f64::NAN)],
            exponent: 1.0,
        }],
        notes: vec!["One seed only.".into()],
    }
}

/// A sample on a grid of n by n + 1 nodes with two values of the permeability.
fn field(index: usize, n: usize) -> FieldComparison {
    let shape = [n, n + 1];
    let truth: Vec<f64> = (0..n * (n + 1)).map(|k| 1e-3 * k as f64).collect();
    FieldComparison {
        index,
        resolution: n,
        shape,
        extent: [0.0, 1.0, 0.0, 1.0],
        input_name: "permeability".into(),
        input: (0..truth.len()).map(|k| if k % 3 == 0 { 12.0 } else { 3.0 }).collect(),
        prediction: truth.iter().map(|value| 1.01 * value).collect(),
        truth,
        relative_l2: 0.0213,
    }
}

fn matrix_row(depth: usize, quadrature: &str, train: Option<f64>, test: &[Option<f64>]) -> MatrixRow {
    MatrixRow { depth, quadrature: quadrature.into(), train, test: test.into() }
}

/// The page without its images, whose letters mean nothing.
pub(super) fn text_of(page: &str) -> String {
    let pieces = page.split("data:image/png;base64,");
    let text =
        pieces.enumerate().map(|(k, piece)| if k == 0 { piece } else { &piece[piece.find('"').expect("a quote")..] });
    text.collect()
}

/// Replaces every number by one that cannot be drawn.
fn broken(mut data: ReportData, value: f64) -> ReportData {
    for curve in &mut data.curves {
        curve.epoch[3] = value;
        curve.train.fill(value);
        curve.test.fill(value);
    }
    for sample in &mut data.samples {
        sample.input.fill(value);
        sample.prediction[5] = value;
        sample.relative_l2 = value;
    }
    if let Some(green) = &mut data.green {
        green.effective[10..400].fill(value);
    }
    for spectrum in &mut data.spectra {
        (spectrum.step, spectrum.amplification) = (value, value);
        spectrum.eigenvalues[0] = (value, value);
    }
    for field in &mut data.fields {
        field.input.fill(value);
        field.truth[3] = value;
        field.prediction[4..8].fill(value);
        field.relative_l2 = value;
    }
    for row in data.matrix.iter_mut().flat_map(|matrix| &mut matrix.rows) {
        row.train = Some(value);
        row.test[0] = Some(value);
        row.test[1] = Some(value);
    }
    data.errors[0].relative_l2 = value;
    data
}

/// Checks that tags are balanced, attributes quoted and ampersands escaped.
pub(super) fn assert_well_formed(page: &str) {
    let mut open = Vec::new();
    for part in page.split('<').skip(1) {
        let (tag, text) = part.split_once('>').expect("a tag ends");
        let name = tag.trim_matches('/').split_whitespace().next().expect("a tag has a name");
        assert_eq!(tag.matches('"').count() % 2, 0, "quotes in <{tag}>");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "</{name}> closes what was opened last");
        } else if !tag.ends_with('/') && name != "!DOCTYPE" {
            open.push(name);
        }
        for entity in text.split('&').skip(1) {
            assert!(entity.split_once(';').is_some_and(|(name, _)| name.len() < 6), "&{entity}");
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
}

#[test]
fn a_complete_page_is_well_formed_and_ordered() {
    let page = render(&complete());
    assert_well_formed(&page);
    let headings = ["Errors", "Resolution matrix", "Training", "Test samples", "Fields", "Green&#39;s function"]
        .into_iter()
        .chain(["Spectrum and stability", "Notes"]);
    let places: Vec<_> = headings.map(|h| page.find(&format!("<h2>{h}</h2>")).expect(h)).collect();
    assert!(places.is_sorted(), "{places:?}");
    assert!(page.contains("2.32e-3") && page.contains("training grid"));
    for outside in ["<script", "http://", "https://", "url("] {
        assert!(!page.contains(outside), "the page needs nothing from outside: {outside}");
    }
}

#[test]
fn missing_parts_are_left_out() {
    let page = render(&ReportData::default());
    assert_well_formed(&page);
    for tag in ["<h2", "<figure", "<table", "<dl", "<ul", "<svg"] {
        assert!(!page.contains(tag), "{tag}");
    }
    let mut data = complete();
    data.green.as_mut().expect("complete").exact.clear();
    let page = render(&data);
    assert_well_formed(&page);
    assert!(page.contains("learned, L = 2") && !page.contains("learned − exact"));
}

#[test]
fn numbers_that_are_not_finite_do_not_break_the_page() {
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, -f64::MAX, 0.0] {
        let page = render(&broken(complete(), value));
        assert_well_formed(&page);
        let page = text_of(&page);
        assert!(!page.contains("NaN") && !page.contains("inf"), "{value}");
        assert_eq!(page.contains("not finite"), value != 0.0, "{value}");
    }
}

#[test]
fn what_is_drawn_is_what_is_known() {
    let mut data = ReportData { samples: complete().samples, green: complete().green, ..Default::default() };
    let page = render(&data);
    // 70 by 70 entries are averaged over 2 by 2 blocks, in three maps.
    assert_eq!(page.matches("h2v2h-2z").count(), 3 * 35 * 35);
    let pieces = |page: &str| {
        let class = "line dashed c1\" d=\"";
        let path = &page[page.find(class).expect("a prediction") + class.len()..];
        path.split('"').next().map_or(0, |path| path.matches('M').count())
    };
    assert_eq!(pieces(&page), 1);
    data.samples[0].prediction[20..30].fill(f64::NAN);
    assert_eq!(pieces(&render(&data)), 2);
}

#[test]
fn degenerate_data_do_not_break_the_page() {
    let mut data = complete();
    data.curves = vec![Curve { depth: 3, epoch: vec![1.0], train: vec![0.5], test: vec![] }];
    data.samples = vec![Sample::default()];
    data.green = Some(Green { x: vec![0.5], effective: vec![0.25], exact: vec![0.25], depth: 1 });
    data.spectra = vec![Spectrum::default()];
    data.spectra[0].eigenvalues = vec![(0.0, 0.0)];
    let one_node = FieldComparison {
        shape: [1, 1],
        extent: [0.0, 1.0, 0.0, 2.0],
        truth: vec![2.0],
        prediction: vec![2.0],
        ..FieldComparison::default()
    };
    data.fields = vec![FieldComparison::default(), one_node];
    data.matrix = Some(ResolutionMatrix {
        trained_at: 0,
        resolutions: vec![0, 7],
        rows: vec![matrix_row(1, "", None, &[Some(0.1)]), MatrixRow::default()],
    });
    let page = text_of(&render(&data));
    assert_well_formed(&page);
    assert!(page.contains("not known"), "the input of the field");
    assert!(!page.contains("NaN") && !page.contains("inf"));
}

#[test]
fn fields_are_grouped_by_sample_and_ordered_by_resolution() {
    let mut data = ReportData { fields: complete().fields, ..Default::default() };
    let page = render(&data);
    let parts = ["<h3>Test sample 9</h3>", ">sample 9, 5 × 6, error 2.1 %<", "<h3>Test sample 3</h3>"]
        .into_iter()
        .chain([">sample 3, 5 × 6, error 2.1 %<", ">sample 3, 7 × 8, error 2.1 %<"]);
    let places: Vec<_> = parts.map(|part| page.find(part).expect(part)).collect();
    assert!(places.is_sorted(), "{places:?}");
    // Four panels and three colour bars for each of three rows.
    assert_eq!(page.matches("<image").count(), 3 * 7);
    assert!(page.contains(">12</text>") && page.contains(">3</text>"), "the two values of the permeability");
    assert!(!page.contains("Grey cells"));
    data.fields[0].input[2] = f64::NAN;
    assert!(render(&data).contains("Grey cells"));
    for field in &mut data.fields {
        field.truth.pop();
    }
    assert!(!render(&data).contains("<h2"), "values that do not fit the grid are not drawn");
}

#[test]
fn fields_have_x_to_the_right_and_y_upwards() {
    // The value is 1 at (x_1, y_0) only: in the image's last row, second of three pixels.
    let mut field = field(1, 3);
    field.truth.fill(0.0);
    field.truth[field.shape[1]] = 1.0;
    field.prediction.fill(0.0);
    let page = render(&ReportData { fields: vec![field], ..Default::default() });
    let palette: Vec<_> = (0..64).map(|level| color::ColorMap::Viridis.rgb(level)).chain([color::MISSING]).collect();
    let pixels = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 63, 0];
    assert!(page.contains(&png::data_uri(3, &palette, &pixels)));
}

#[test]
fn the_matrix_compares_with_the_training_resolution() {
    let mut data = ReportData { matrix: complete().matrix, ..Default::default() };
    let page = render(&data);
    assert!(page.contains("<small class=\"no\">×2.4</small>") && page.contains("<small>×1.2</small>"));
    assert_eq!(page.matches("<small").count(), 4);
    assert_eq!(page.matches("class=\"trained\"").count(), 3);
    assert!(page.contains("trained here") && page.contains("mean, L = 2") && !page.contains("mean, L = 1"));
    // The second line style belongs to the second quadrature, in the legend and in the figure; it has one point there.
    assert_eq!(page.matches("class=\"line dashed c1\"").count(), 2);
    let matrix = data.matrix.as_mut().expect("complete");
    matrix.trained_at = 40;
    let page = render(&data);
    assert!(!page.contains("<small") && !page.contains("trained here"));
    data.matrix = Some(ResolutionMatrix { rows: Vec::new(), ..complete().matrix.expect("complete") });
    assert!(!render(&data).contains("<h2"));
}

/// Reads an image back: its width, its height and the bytes of its pixels.
pub(super) fn decode(file: &[u8]) -> (usize, usize, Vec<u8>) {
    let number = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().expect("four bytes"));
    let mut rest = file.strip_prefix(b"\x89PNG\r\n\x1a\n").expect("the signature");
    let (mut header, mut stream) = (Vec::new(), Vec::new());
    while !rest.is_empty() {
        let length = number(&rest[..4]) as usize;
        let (name, content) = (&rest[4..8], &rest[8..8 + length]);
        assert_eq!(number(&rest[8 + length..12 + length]), crc32(&rest[4..8 + length]));
        match name {
            b"IHDR" => header.extend(content),
            b"IDAT" => stream.extend(content),
            _ => {}
        }
        rest = &rest[12 + length..];
    }
    let (mut blocks, sum) = stream[2..].split_at(stream.len() - 6);
    let mut bytes = Vec::new();
    while let [last, a, b, c, d, content @ ..] = blocks {
        let length = u16::from_le_bytes([*a, *b]);
        assert_eq!(length, !u16::from_le_bytes([*c, *d]));
        let (block, others) = content.split_at(usize::from(length));
        assert_eq!(*last == 1, others.is_empty());
        bytes.extend(block);
        blocks = others;
    }
    assert_eq!(number(sum), adler32(&bytes));
    let [width, height] = [0, 4].map(|k| number(&header[k..k + 4]) as usize);
    (width, height, bytes.chunks(bytes.len() / height).flat_map(|row| &row[1..]).copied().collect())
}

#[test]
fn images_can_be_read_back() {
    assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    assert_eq!(adler32(b"Wikipedia"), 0x11e6_0398);
    assert_eq!(
        ["", "f", "fo", "foo", "foob"].map(|text| base64(text.as_bytes())),
        ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]
    );
    // The smallest one, several rows, and more than a block.
    for (width, height) in [(1, 1), (3, 2), (300, 301)] {
        let pixels: Vec<u8> = (0..width * height).map(|k| (k % 251) as u8).collect();
        assert_eq!(decode(&encode(width, &[[1, 2, 3]; 251], &pixels)), (width, height, pixels));
    }
}

#[test]
fn text_is_escaped() {
    assert_eq!(escape("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
    let mut data = complete();
    let attack = "<script>alert('&')</script>{title}";
    data.title = attack.into();
    data.summary = attack.into();
    data.facts.push((attack.into(), attack.into()));
    data.notes.push(attack.into());
    data.errors[0].split = attack.into();
    data.fields[0].input_name = attack.into();
    data.matrix.as_mut().expect("complete").rows[0].quadrature = attack.into();
    let page = render(&data);
    assert_well_formed(&page);
    assert!(!page.contains("<script") && page.contains("{title}"));
}

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
fn numbers_are_readable() {
    assert_eq!(scientific(0.002_318), "2.32e-3");
    assert_eq!(scientific(f64::NAN), "not finite");
    assert_eq!(compact(0.25), "0.25");
    assert_eq!(compact(-12.3456), "−12.35");
    assert_eq!(compact(1.0 / 3.0), "0.3333");
    assert_eq!(compact(-3e-7), "−3.00e-7");
    assert_eq!([2.14, 0.996, 12.3, 0.0512, 1.0].map(two_digits), ["2.1", "1.0", "12", "0.051", "1.0"]);
    assert_eq!([0.0213, 1.5, 3.2e-4].map(percent), ["2.1 %", "150 %", "0.032 %"]);
    assert_eq!([1e-7, f64::NAN, f64::MAX].map(percent), ["1.00e-7", "not finite", "1.80e308"]);
    assert_eq!(power_of_ten(-12), "10⁻¹²");
    assert_eq!(extent([f64::NAN, 2.0, f64::INFINITY, -1.0]), Some((-1.0, 2.0)));
}
