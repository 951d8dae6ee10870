//! The page is well formed and honest for good, missing and broken data.

use super::scale::{Axis, extent};
use super::text::{compact, escape, power_of_ten, scientific};
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
        errors: vec![row(1, "train", 50), row(1, "test", 50), row(2, "test", 200)],
        notes: vec!["One seed only.".into()],
    }
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
    data.errors[0].relative_l2 = value;
    data
}

/// Checks that tags are balanced, attributes quoted and ampersands escaped.
fn assert_well_formed(page: &str) {
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
    let headings = ["Errors", "Training", "Test samples", "Green&#39;s function", "Spectrum and stability", "Notes"];
    let places: Vec<_> = headings.iter().map(|h| page.find(&format!("<h2>{h}</h2>")).expect(h)).collect();
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
    let page = render(&data);
    assert_well_formed(&page);
    assert!(!page.contains("NaN") && !page.contains("inf"));
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
    assert_eq!(power_of_ten(-12), "10⁻¹²");
    assert_eq!(extent([f64::NAN, 2.0, f64::INFINITY, -1.0]), Some((-1.0, 2.0)));
}
