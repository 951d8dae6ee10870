//! The learned Green's function as heat maps, beside the exact one: on what the loads span, and everywhere.

use super::color::ColorMap;
use super::heat::Scale;
use super::scale::{Axis, drawable, extent};
use super::svg::{self, Frame, label};
use super::text::scientific;

/// The height of a row of maps with its titles and its axis.
const ROW: f64 = 282.0;

/// The Green's function that a network has learned, beside the exact one.
#[derive(Debug, Clone)]
pub struct Green {
    /// The n points, in increasing order, evenly spaced.
    pub x: Vec<f64>,
    /// The number of layers of the network.
    pub depth: usize,
    /// What the kernel does to loads like those of the training; none if these are all zero.
    pub on_loads: Option<Kernels>,
    /// The dimension of what these loads span.
    pub dimension: usize,
    /// The kernel itself, which also acts on loads that the network has never seen.
    pub everywhere: Kernels,
}

/// Values G(x_i, x_j) at i * n + j: the response at x_i to a source at x_j.
#[derive(Debug, Clone, Default)]
pub struct Kernels {
    /// Of the network.
    pub learned: Vec<f64>,
    /// The exact ones; empty if they are not known.
    pub exact: Vec<f64>,
}

impl Kernels {
    fn difference(&self) -> Vec<f64> {
        self.learned.iter().zip(&self.exact).map(|(learned, exact)| learned - exact).collect()
    }

    /// The size of the difference relative to the exact kernel, in the Frobenius norm.
    fn relative_difference(&self) -> Option<f64> {
        let norm = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>().sqrt();
        (!self.exact.is_empty()).then(|| norm(&self.difference()) / norm(&self.exact))
    }
}

/// The figure: a row of maps on what the loads span, if that is known, and one everywhere.
pub fn figure(green: &Green) -> String {
    let n = green.x.len();
    let on_loads = format!("on the {} functions that the loads are made of", green.dimension);
    let rows = green.on_loads.iter().map(|kernels| (kernels, on_loads.as_str()));
    let rows: Vec<_> = rows.chain([(&green.everywhere, "everywhere")]).collect();
    let (first, last) = extent(green.x.iter().copied()).unwrap_or((0.0, 1.0));
    let axis = Axis::linear((first, last));
    let mut content = String::new();
    for (k, (kernels, place)) in rows.iter().enumerate() {
        let difference = kernels.difference();
        let values = Scale::new(
            extent(kernels.learned.iter().chain(&kernels.exact).copied()).unwrap_or((0.0, 1.0)),
            ColorMap::Viridis,
        );
        let maps = [
            (format!("learned, L = {}", green.depth), &kernels.learned, values),
            ("exact".to_owned(), &kernels.exact, values),
            ("learned − exact".to_owned(), &difference, Scale::signed(difference.iter().copied())),
        ];
        let top = ROW * k as f64;
        content.push_str(&label(0.0, top + 15.0, "strong", place));
        for (column, (title, values, scale)) in maps.iter().enumerate().filter(|(_, map)| !map.1.is_empty()) {
            let (left, top) = (50.0 + 300.0 * column as f64, top + 48.0);
            let frame = Frame { left, top, width: 190.0, height: 190.0, x: axis, y: axis };
            content.push_str(&(frame.axes("x", "y") + &label(left, top - 10.0, "", title)));
            content.push_str(&scale.cells(&frame, [n, n], values));
            content.push_str(&scale.bar(left + frame.width + 10.0, top, frame.height));
        }
    }
    let description = "Heat maps over x and y: the learned Green's function, the exact one, and their difference.";
    let drawing = svg::drawing(ROW * rows.len() as f64, "Green's function", description, &content);
    svg::figure(&drawing, &caption(green))
}

fn caption(green: &Green) -> String {
    let Green { on_loads, dimension, everywhere, .. } = green;
    let projected = format!(
        " The loads of the training are sums of {dimension} functions of <var>y</var>, but for a ten-thousandth of their \
         variance. They determine <var>G</var> on what these span, and the upper row is <var>G</var> projected there: \
         what was learned. Of other loads the samples say nothing, so the lower row, all of <var>G</var>, may differ \
         from the exact one by any amount."
    );
    let projected = if on_loads.is_some() { projected } else { String::new() };
    let differences = everywhere.relative_difference().map(|everywhere| {
        let on_loads = on_loads.as_ref().and_then(Kernels::relative_difference);
        let on_loads = on_loads.map(|difference| format!("{} on the loads, ", scientific(difference)));
        format!(
            " The left and the middle map share one colour scale and should look alike. Relative difference in the \
             Frobenius norm: {}{} everywhere.",
            on_loads.unwrap_or_default(),
            scientific(everywhere)
        )
    });
    let mut values =
        on_loads.iter().chain([everywhere]).flat_map(|kernels| kernels.learned.iter().chain(&kernels.exact));
    let grey =
        if values.all(|&value| drawable(value)) { "" } else { " Grey cells contain values that are not finite." };
    format!(
        "<strong>What the network has understood.</strong> The network is affine in <var>f</var>, so its Jacobian is a matrix: \
         the Green's function <var>G</var>(<var>x</var>, <var>y</var>) it has learned, the response at <var>x</var> to a unit \
         source at <var>y</var>.{projected}{}{grey}",
        differences.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::color::LEVELS;
    use crate::report::pixels::tests::decode;
    use crate::report::tests::{addresses, assert_well_formed, text_of};

    fn green() -> Green {
        let x: Vec<f64> = (0..70).map(|k| f64::from(k) / 69.0).collect();
        let exact: Vec<f64> = x.iter().flat_map(|a| x.iter().map(move |b| a.min(*b) * (1.0 - a.max(*b)))).collect();
        let scaled = |factor: f64| exact.iter().map(|value| factor * value).collect();
        Green {
            x,
            depth: 2,
            on_loads: Some(Kernels { learned: scaled(1.001), exact: exact.clone() }),
            dimension: 10,
            everywhere: Kernels { learned: scaled(1.5), exact: exact.clone() },
        }
    }

    #[test]
    fn both_comparisons_are_drawn_and_both_differences_said() {
        let html = figure(&green());
        assert_well_formed(&html);
        assert!(html.contains("1.00e-3 on the loads, 5.00e-1 everywhere."), "{html}");
        // Three maps and three bars in each row.
        assert_eq!(addresses(&html).len(), 12);
        assert_eq!(html.matches(">learned, L = 2<").count(), 2);
        assert!(html.contains("on the 10 functions") && html.matches(">learned − exact<").count() == 2);
    }

    #[test]
    fn the_response_is_to_the_right_and_the_source_upwards() {
        let x = vec![0.0, 1.0];
        // The response at x_1 to a source at x_0 is the only one.
        let everywhere = Kernels { learned: vec![0.0, 0.0, 1.0, 0.0], exact: Vec::new() };
        let html = figure(&Green { x, depth: 1, on_loads: None, dimension: 0, everywhere });
        let (width, pixels) = decode(addresses(&html)[0]);
        let (low, high) = (ColorMap::Viridis.rgb(0), ColorMap::Viridis.rgb(LEVELS - 1));
        assert_eq!((width, pixels), (2, vec![low, low, low, high]));
        assert!(!html.contains("learned − exact") && !html.contains("Frobenius") && !html.contains("on the loads"));
    }

    #[test]
    fn broken_values_are_grey_and_a_single_point_is_drawn() {
        let mut broken = green();
        broken.everywhere.learned[10..400].fill(f64::NAN);
        let html = figure(&broken);
        assert_well_formed(&html);
        assert!(
            html.contains("Grey cells") && html.contains("not finite everywhere") && !text_of(&html).contains("NaN")
        );
        let one = Kernels { learned: vec![0.25], exact: vec![0.25] };
        assert_well_formed(&figure(&Green { x: vec![0.5], on_loads: Some(one.clone()), everywhere: one, ..green() }));
    }
}
