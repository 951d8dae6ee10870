//! The error of the same weights at depths that they were not trained at, and in the limit: from the table that `nkn
//! eval --depths` leaves in the run's folder.

use super::color::Palette;
use super::measure;
use super::scale::{Axis, Ticks};
use super::svg::{self, Entry, Frame};
use super::text::{scientific, two_digits};
use maud::html;
use nkn::model::Depth;
use std::path::Path;

/// The error at a depth.
#[derive(Debug, Clone, PartialEq)]
pub struct DepthError {
    /// The depth of the training.
    pub trained: usize,
    /// The depth of the evaluation.
    pub depth: Depth,
    /// The resolution of the samples.
    pub resolution: usize,
    /// The mean relative error.
    pub value: f64,
}

/// What depths.csv says; nothing where there is none, or a foreign one.
pub fn read(run: &Path) -> Vec<DepthError> {
    let text = std::fs::read_to_string(run.join("depths.csv")).unwrap_or_default();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap_or_default();
    let place = |name: &str| header.iter().position(|own| *own == name);
    let places = ["trained", "depth", "resolution", "metric", "value"].map(place);
    let parse = |line: Vec<&str>| {
        let [trained, depth, resolution, metric, value] = places.map(|place| line.get(place?).copied());
        (metric? == "relative_l2").then_some(())?;
        Some(DepthError {
            trained: trained?.parse().ok()?,
            depth: depth?.parse().ok()?,
            resolution: resolution?.parse().ok()?,
            value: value?.parse().ok()?,
        })
    };
    lines.filter_map(parse).collect()
}

/// A line per resolution over the depth, or nothing with fewer than two depths.
pub fn figure(errors: &[DepthError]) -> String {
    let layers = |error: &DepthError| match error.depth {
        Depth::Layers(layers) => Some(layers),
        Depth::Infinite => None,
    };
    let deepest = errors.iter().filter_map(layers).max().unwrap_or(1);
    // The limit stands two doublings beyond the deepest network.
    let limit = 4 * deepest;
    let mut depths: Vec<usize> = errors.iter().map(|error| layers(error).unwrap_or(limit)).collect();
    depths.sort_unstable();
    depths.dedup();
    let axis = measure::axis("relative_l2", errors.iter().map(|error| error.value)).filter(|_| depths.len() > 1);
    let Some(axis) = axis else { return String::new() };
    let mut resolutions: Vec<usize> = errors.iter().map(|error| error.resolution).collect();
    resolutions.sort_unstable();
    resolutions.dedup();
    let palette = Palette::new(0..resolutions.len());
    let name = |resolution: &usize| format!("resolution {resolution}");
    let entries: Vec<Entry> =
        resolutions.iter().enumerate().map(|(k, resolution)| Entry::line(name(resolution), palette.line(k))).collect();
    let (mut content, height) = svg::legend(84.0, 14.0, &entries);
    let frame = Frame::wide(24.0 + height, 240.0, Axis::doublings(depths.iter().copied()), axis);
    let label = |depth: &usize| if *depth == limit { "∞".to_string() } else { depth.to_string() };
    let x_ticks =
        Ticks { labelled: depths.iter().map(|depth| (*depth as f64, label(depth))).collect(), ..Ticks::default() };
    let y_ticks = measure::ticks("relative_l2", axis, frame.height);
    content += &frame.axes_at((&x_ticks, "depth L"), (&y_ticks, measure::title("relative_l2")));
    for (k, resolution) in resolutions.iter().enumerate() {
        let own = || errors.iter().filter(|error| error.resolution == *resolution);
        let points = || own().map(|error| (layers(error).unwrap_or(limit) as f64, error.value));
        content += &frame.line(points(), &palette.line(k));
        content += &frame.markers(points(), &palette, k);
    }
    let description = "The mean relative error over the depth at which the network is asked, a line per resolution.";
    let drawing = frame.drawing("Error over depth", description, &content);
    let trained = errors[0].trained;
    let own =
        |depth: Depth| errors.iter().find(|error| error.depth == depth && error.resolution == errors[0].resolution);
    let caption = html! {
        strong { "Does the error depend on the depth?" } " The weights are those of depth " (trained) ", without further \
        training; ∞ is the equation that the layers are steps of. "
        @if let (Some(home), Some(limit)) = (own(Depth::Layers(trained)), own(Depth::Infinite)) {
            "In the limit the error is " strong { (scientific(limit.value)) } ", "
            (two_digits(limit.value / home.value)) " times that at depth " (trained) "."
        }
    };
    svg::figure(&drawing, &caption.into_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::assert_well_formed;

    #[test]
    fn a_table_becomes_a_line_per_resolution() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(folder.path()), []);
        let mut table = String::from("run,model,trained,depth,seed,split,resolution,quadrature,metric,value\n");
        for (depth, value) in [("16", 0.02), ("32", 0.022), ("infinite", 0.025)] {
            for resolution in [16, 31] {
                table += &format!("a,nkn,16,{depth},0,test,{resolution},default,relative_l2,{value:e}\n");
                table += &format!("a,nkn,16,{depth},0,test,{resolution},default,relative_l2_squared,1\n");
            }
        }
        std::fs::write(folder.path().join("depths.csv"), table).unwrap();
        let errors = read(folder.path());
        assert_eq!(errors.len(), 6);
        let html = figure(&errors);
        assert_well_formed(&html);
        assert!(
            html.contains(">∞<") && html.contains("resolution 31") && html.contains("1.2 times that at depth 16"),
            "{html}"
        );
        assert_eq!((figure(&[]), figure(&errors[..1])), (String::new(), String::new()));
        std::fs::write(folder.path().join("depths.csv"), "a,b\n1,2\n").unwrap();
        assert_eq!(read(folder.path()), []);
    }
}
