use super::*;
use crate::report::pixels::data_uri;
use crate::report::samples::tests::{scalar, spiral, wave};
use crate::report::tests::{assert_well_formed, text_of};
use nkn::domain::Grid;

/// A sample on a grid of n by n + 1 nodes with two values of the permeability.
fn field(index: usize, n: usize) -> Comparison {
    let truth: Vec<f64> = (0..n * (n + 1)).map(|k| 1e-3 * k as f64).collect();
    let permeability = (0..truth.len()).map(|k| if k % 3 == 0 { 12.0 } else { 3.0 }).collect();
    let prediction = truth.iter().map(|value| 1.01 * value).collect();
    Comparison {
        index,
        inputs: vec![scalar("permeability", permeability)],
        outputs: vec![Output { truth: scalar("u", truth), prediction, relative_l2: 0.0213 }],
        relative_l2: 0.0213,
        ..wave(&[n, n + 1])
    }
}

#[test]
fn fields_are_grouped_by_sample_and_ordered_by_resolution() {
    let mut fields = vec![field(9, 5), field(3, 7), field(3, 5)];
    let html = figure(&fields);
    assert_well_formed(&html);
    let parts = ["<h3>Test sample 9</h3>", ">sample 9, 5 × 6, error 2.1 %<", "<h3>Test sample 3</h3>"];
    let parts = parts.into_iter().chain([">sample 3, 5 × 6, error 2.1 %<", ">sample 3, 7 × 8, error 2.1 %<"]);
    assert!(parts.map(|part| html.find(part).expect(part)).is_sorted());
    // Four panels and three colour bars for each of three rows.
    assert_eq!(html.matches("<image").count(), 3 * 7);
    assert!(html.contains(">12</text>") && html.contains(">3</text>"), "the two values of the permeability");
    assert!(!html.contains("Grey cells") && !html.contains("disc") && !html.contains("Arrows"));
    fields[0].inputs[0].values[2] = f64::NAN;
    assert!(figure(&fields).contains("Grey cells"));
    assert_eq!(figure(&[wave(&[5])]), "", "samples on a line have a figure of their own");
}

#[test]
fn x_goes_to_the_right_and_y_upwards() {
    // The value is 1 at (x_1, y_0) only: in the image's last row, second of three pixels.
    let mut field = field(1, 3);
    field.outputs[0].truth.values.fill(0.0);
    field.outputs[0].truth.values[4] = 1.0;
    field.outputs[0].prediction.fill(0.0);
    let mut pixels = [ColorMap::Viridis.rgb(0); 12];
    pixels[10] = ColorMap::Viridis.rgb(63);
    assert!(figure(&[field]).contains(&data_uri(3, &pixels)));
}

#[test]
fn a_single_node_and_a_long_domain() {
    let mut one = Comparison { relative_l2: f64::NAN, ..wave(&[1, 1]) };
    one.outputs[0].relative_l2 = f64::NAN;
    let html = figure(&[one]);
    assert_well_formed(&html);
    assert!(html.contains("not finite") && !text_of(&html).contains("NaN"));
    assert_eq!(figure(&[]), "");
    // Both axes have the same scale, as far as the panels stay readable.
    let height_of = |upper: f64| {
        let grid = Grid::new(vec![2, 2], vec![0.0; 2], vec![1.0, upper]).unwrap();
        height(&Plane::of(&grid.into()).unwrap())
    };
    assert_eq!([1e-3, 1.0, 1.5, 9.0].map(height_of), [HEIGHTS.0, ACROSS, 1.5 * ACROSS, HEIGHTS.1]);
}

#[test]
fn names_are_escaped_and_shortened() {
    let mut field = field(1, 3);
    field.inputs[0].name = "<k> & a name that is too long".into();
    let html = figure(&[field]);
    assert_well_formed(&html);
    assert!(html.contains("&lt;k&gt; &amp; a name that is") && !html.contains("too long"), "{html}");
}

#[test]
fn outputs_have_rows_and_vectors_arrows() {
    for dim in [2, 3] {
        let html = figure(&[spiral(dim, 200)]);
        assert_well_formed(&html);
        let text = text_of(&html);
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        assert!(text.contains("<h3>Test sample 3 <span class=\"aside\">median, error 25 %</span></h3>"), "{text}");
        assert!(text.contains(">truth |v|<") && text.contains(">prediction |v|<") && text.contains(">truth p<"));
        assert!(text.contains(", p: error 0") && text.contains(", v: error 50 % (components 50 %, 50 %"), "{text}");
        // Input, truth, prediction and error of p; truth, prediction and error of v.
        assert_eq!(text.matches("<g class=\"discs\"").count(), 7);
        assert_eq!(text.matches("class=\"arrow\"").count(), 2, "in truth and prediction");
        assert_eq!(text.contains("Of three dimensions"), dim == 3);
        assert!(text.contains("Arrows") && text.contains("Each point is a disc") && !text.contains("cell"));
    }
}

#[test]
fn the_length_of_a_vector_is_its_colour_from_zero() {
    let sample = spiral(2, 50);
    let (scale, longest) = Scales::of(&[(&sample, Plane::of(&sample.domain).unwrap())]).outputs[1];
    assert_eq!(scale.rgb(0.0), ColorMap::Viridis.rgb(0));
    assert_eq!(scale.rgb(longest), ColorMap::Viridis.rgb(63));
    let farthest = sample.outputs[1].prediction.chunks(2).map(size).fold(0.0, f64::max);
    assert_eq!(longest, farthest, "truth and prediction have one scale, that of the larger");
}

#[test]
fn inputs_that_are_left_over_are_seen_once() {
    let with_more = |n: usize| {
        let mut field = field(2, n);
        let other = Field { name: "other".into(), ..field.inputs[0].clone() };
        let gradient = Field { name: "slope".into(), components: 2, values: vec![0.5; 2 * n * (n + 1)] };
        field.inputs.extend([other, gradient]);
        field
    };
    let html = figure(&[with_more(4), with_more(8)]);
    assert_well_formed(&html);
    assert_eq!(html.matches(">other</text>").count(), 1);
    assert!(html.contains(">sample 2, 8 × 9, further inputs</text>") && html.contains(">|slope|</text>"));
    // Two rows of four panels with three bars, and a row of two panels with bars.
    assert_eq!(html.matches("<image").count(), 2 * 7 + 4);
    assert_eq!(html.matches("class=\"arrow\"").count(), 1);
}

#[test]
fn a_cube_and_many_points_are_said_to_be_seen_in_part() {
    let html = figure(&[wave(&[4, 4, 4])]);
    assert!(html.contains("4 × 4 × 4, the middle layer") && html.contains("Of three dimensions"));
    let html = figure(&[spiral(2, MOST + 1)]);
    assert!(html.contains("3000 of 3001 points") && html.contains("only so many are drawn"));
}
