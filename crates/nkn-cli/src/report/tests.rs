//! The page is well formed, ordered and complete for whatever it is given.

use super::confusion::tests::{answers, pets};
use super::samples::tests::{spiral, wave};
use super::spectrum::tests::stability;
use super::stencils::tests::stencil;
use super::*;
use nkn::model::Depth;
use nkn::train::Measure;

/// Checks that tags are balanced, attributes quoted and ampersands escaped.
pub fn assert_well_formed(page: &str) {
    let mut open = Vec::new();
    for part in page.split('<').skip(1) {
        let (tag, text) = part.split_once('>').expect("a tag ends");
        let name = tag.trim_matches('/').split_whitespace().next().expect("a tag has a name");
        assert_eq!(tag.matches('"').count() % 2, 0, "quotes in <{tag}>");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "</{name}> closes what was opened last");
        } else if !tag.ends_with('/') && !["!DOCTYPE", "meta", "img"].contains(&name) {
            open.push(name);
        }
        for entity in text.split('&').skip(1) {
            assert!(entity.split_once(';').is_some_and(|(name, _)| name.len() < 6), "&{entity}");
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
}

/// The addresses of all images on a page.
pub fn addresses(page: &str) -> Vec<&str> {
    let ends = page.match_indices("data:image").map(|(start, _)| &page[start..]);
    ends.map(|rest| rest.split('"').next().expect("an address")).collect()
}

/// The page without its images, whose letters mean nothing.
pub fn text_of(page: &str) -> String {
    addresses(page).into_iter().fold(page.to_owned(), |text, address| text.replace(address, ""))
}

/// A small report with every section.
fn complete() -> Report {
    let x = vec![0.0, 0.5, 1.0];
    let kernels = green::Kernels { learned: vec![0.5; 9], exact: vec![0.25; 9] };
    let line = |split: &str| curves::Line {
        metric: "relative_l2".into(),
        split: split.into(),
        points: vec![(1.0, 0.5), (2.0, 0.1)],
    };
    let step = |step: usize| steps::StepError { depth: 1, step, value: 0.01 * step as f64 };
    Report {
        steps: vec![step(1), step(2)],
        title: "Poisson".into(),
        summary: "A test.".into(),
        facts: vec![("parameters".into(), "67,016".into())],
        errors: errors::Errors {
            trained_at: 50,
            is_square: false,
            rows: vec![errors::ErrorRow {
                depth: 1,
                quadrature: String::new(),
                measure: Measure { metric: "relative_l2".into(), split: "test".into(), ..answers().measure },
            }],
        },
        curves: vec![curves::Curve { depth: 1, lines: vec![line("train"), line("test")] }],
        spreads: vec![spread::Spread { split: "Test", name: "u".into(), errors: vec![0.1, 0.2, 0.3, 0.4] }],
        samples: vec![wave(&[3]), wave(&[2, 2])],
        green: Some(green::Green { x, depth: 1, on_loads: Some(kernels.clone()), dimension: 2, everywhere: kernels }),
        classes: pets(),
        answers: vec![answers()],
        stencils: vec![("A kernel".into(), stencil())],
        depths: [1, 2]
            .map(|l| depths::DepthError { trained: 1, depth: Depth::Layers(l), resolution: 50, value: 0.1 })
            .into(),
        energies: vec![energy::Energy { depth: 1, sizes: vec![1.0, 0.5] }],
        spectra: vec![stability(1, &[(0.1, 0.0)])],
        growth: vec![growth::Growth {
            quantity: "nodes".into(),
            points: vec![(1.0, 0.1), (10.0, 1.0)],
            ..growth::Growth::default()
        }],
        choices: vec![choices::Choice { what: "radius".into(), chosen: "0.1".into(), why: "near".into() }],
        notes: vec!["One seed only.".into()],
    }
}

#[test]
fn a_complete_page_is_well_formed_ordered_and_needs_nothing_else() {
    let page = render(&complete());
    assert_well_formed(&page);
    let headings = ["Errors", "Training", "Errors of the samples", "Samples", "Fields", "Green's function"];
    let headings = headings.into_iter().chain(["Confusions", "Mistakes"]);
    let headings = headings.chain([
        "Learned kernels",
        "Other depths",
        "Energy",
        "Spectrum and stability",
        "Growth",
        "Choices",
        "Notes",
    ]);
    let places: Vec<_> = headings.map(|h| page.find(&format!("<h2>{h}</h2>")).expect(h)).collect();
    assert!(places.is_sorted(), "{places:?}");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("<dt>parameters</dt><dd>67,016</dd>"));
    let text = text_of(&page);
    for outside in ["<script", "<link", "http", "@import", "url("] {
        assert!(!text.contains(outside), "the page needs nothing from outside: {outside}");
    }
    let sources = page.matches("src=\"").count() + page.matches("href=\"").count();
    assert_eq!(sources, addresses(&page).len(), "every picture is inside the page");
}

#[test]
fn what_is_missing_is_left_out() {
    let page = render(&Report::default());
    assert_well_formed(&page);
    for tag in ["<h2", "<figure", "<table", "<dl", "<ul", "<svg", "<img"] {
        assert!(!page.contains(tag), "{tag}");
    }
    // One section at a time, whatever else is missing.
    let all = complete();
    let empty = Report::default();
    let ones = [
        ("Errors", Report { errors: all.errors, ..empty.clone() }),
        ("Training", Report { curves: all.curves, ..empty.clone() }),
        ("Errors of the samples", Report { spreads: all.spreads, ..empty.clone() }),
        ("Samples", Report { samples: vec![wave(&[9])], ..empty.clone() }),
        ("Fields", Report { samples: vec![wave(&[3, 4])], ..empty.clone() }),
        ("Fields", Report { samples: vec![spiral(3, 40)], ..empty.clone() }),
        ("Green's function", Report { green: all.green, ..empty.clone() }),
        ("Learned kernels", Report { stencils: all.stencils, ..empty.clone() }),
        ("Spectrum and stability", Report { spectra: all.spectra, ..empty.clone() }),
        ("Growth", Report { growth: all.growth, ..empty.clone() }),
        ("Choices", Report { choices: all.choices, ..empty.clone() }),
        ("Notes", Report { notes: all.notes, ..empty }),
    ];
    for (heading, report) in ones {
        let page = render(&report);
        assert_well_formed(&page);
        assert!(page.matches("<h2>").count() == 1 && page.contains(&format!("<h2>{heading}</h2>")), "{heading}");
    }
}

#[test]
fn names_are_escaped() {
    let attack = "<script>alert(\"&\")</script>{title}";
    let facts = vec![(attack.into(), attack.into())];
    let page = render(&Report { title: attack.into(), summary: attack.into(), facts, ..complete() });
    assert_well_formed(&page);
    assert!(!page.contains("<script") && page.contains("{title}"));
    assert_eq!(page.matches("&lt;script&gt;alert(&quot;&amp;&quot;)").count(), 5, "title, heading, summary and a fact");
    assert_well_formed(&section("<h> & \"", "x".into()));
}

#[test]
fn facts_are_escaped_and_long_ones_get_a_line() {
    assert_eq!(facts(&[]), "");
    let html = facts(&[("<n>".into(), "a & \"b\"".into()), ("command".into(), "x".repeat(33))]);
    assert_well_formed(&html);
    assert!(html.contains("<dt>&lt;n&gt;</dt><dd>a &amp; &quot;b&quot;</dd>"), "{html}");
    assert_eq!((html.matches("class=\"wide\"").count(), html.matches("<code>").count()), (1, 1));
}

#[test]
fn notes_are_a_list_or_nothing() {
    assert_eq!(notes(&[]), "");
    assert_eq!(notes(&["1 < 2".into(), "b".into()]), "<ul><li>1 &lt; 2</li><li>b</li></ul>");
}
