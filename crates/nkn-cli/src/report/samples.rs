//! A sample beside the network's prediction, whatever it is made of: any number of functions, scalars or vectors, on a
//! grid or on points. Those on a line are drawn by `lines`, all others by `fields`.

use super::text::percent;
use nkn::domain::Domain;
use nkn::field::{Field, relative_l2};

/// A sample beside the network's prediction, on the same points.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// The set that it is from: "Test", or "Training" where nothing is kept for tests.
    pub split: &'static str,
    /// Its number in the set.
    pub index: usize,
    /// What its error is among those of all samples, for example "worst"; empty if it was not chosen for that.
    pub rank: &'static str,
    /// The points: a grid or one cloud.
    pub domain: Domain,
    /// The first inputs of the network.
    pub inputs: Vec<Field>,
    /// Truth and prediction of each output.
    pub outputs: Vec<Output>,
    /// Relative L² error of the prediction; of several outputs the mean of theirs.
    pub relative_l2: f64,
}

/// One output of a sample.
#[derive(Debug, Clone)]
pub struct Output {
    /// The true function.
    pub truth: Field,
    /// The network's, nodes x components.
    pub prediction: Vec<f64>,
    /// Relative L² error of the prediction.
    pub relative_l2: f64,
}

/// Functions that stand beside each other: an output with one of the inputs, or inputs for which there is no output left.
#[derive(Debug)]
pub struct Row<'a> {
    /// At most one beside an output.
    pub inputs: &'a [Field],
    /// What is predicted.
    pub output: Option<&'a Output>,
}

impl Comparison {
    /// The functions in rows: a row per output with the inputs before them, then what is left of the inputs.
    pub fn rows(&self) -> Vec<Row<'_>> {
        let input = |place: usize| self.inputs.get(place..place + 1).unwrap_or(&[]);
        let outputs = self.outputs.iter().enumerate();
        let mut rows: Vec<_> = outputs.map(|(k, output)| Row { inputs: input(k), output: Some(output) }).collect();
        match self.inputs.get(self.outputs.len()..) {
            None | Some([]) => {}
            Some(inputs) => rows.push(Row { inputs, output: None }),
        }
        rows
    }

    /// The same with every component of a vector as a function of its own.
    pub fn by_component(&self) -> Self {
        let inputs = self.inputs.iter().flat_map(components);
        let outputs = self.outputs.iter().flat_map(Output::components);
        Self { inputs: inputs.collect(), outputs: outputs.collect(), ..self.clone() }
    }

    /// All functions that are given: inputs and truths.
    pub fn functions(&self) -> impl Iterator<Item = &Field> {
        self.inputs.iter().chain(self.outputs.iter().map(|output| &output.truth))
    }

    /// Whether the only output is a scalar, whose error is that of the sample.
    pub fn is_plain(&self) -> bool {
        matches!(&self.outputs[..], [one] if one.truth.components == 1)
    }

    /// Which sample it is, for example "Test sample 7".
    pub fn title(&self) -> String {
        format!("{} sample {}", self.split, self.index)
    }

    /// The heading, with what else there is to say.
    pub fn heading(&self, aside: &str) -> String {
        let words = [self.rank, aside].into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join(", ");
        let words = if words.is_empty() { words } else { format!(" <span class=\"aside\">{words}</span>") };
        format!("<h3>{}{words}</h3>\n", self.title())
    }
}

impl Output {
    /// A prediction of this function.
    pub fn new(truth: Field, prediction: Vec<f64>) -> Self {
        let error = relative_l2(&prediction, &truth.values, truth.values.len().max(1));
        let relative_l2 = error.first().copied().unwrap_or(f64::NAN);
        Self { truth, prediction, relative_l2 }
    }

    /// Prediction minus truth.
    pub fn error(&self) -> Vec<f64> {
        self.prediction.iter().zip(&self.truth.values).map(|(prediction, truth)| prediction - truth).collect()
    }

    /// The components, each as an output of its own; a scalar is its only one.
    pub fn components(&self) -> Vec<Self> {
        let prediction = Field { values: self.prediction.clone(), ..self.truth.clone() };
        let both = components(&self.truth).into_iter().zip(components(&prediction));
        match self.truth.components {
            1 => vec![self.clone()],
            _ => both.map(|(truth, prediction)| Self::new(truth, prediction.values)).collect(),
        }
    }

    /// Its error in words, of a vector those of its components too.
    pub fn error_in_words(&self) -> String {
        let whole = percent(self.relative_l2);
        if self.truth.components == 1 {
            return whole;
        }
        let each: Vec<_> = self.components().iter().map(|component| percent(component.relative_l2)).collect();
        format!("{whole} (components {})", each.join(", "))
    }
}

/// The components of a function, `name.0`, `name.1`, …; a scalar is its only one.
fn components(field: &Field) -> Vec<Field> {
    if field.components == 1 {
        return vec![field.clone()];
    }
    let component = |k: usize| Field {
        name: format!("{}.{k}", field.name),
        components: 1,
        values: field.values.iter().skip(k).step_by(field.components).copied().collect(),
    };
    (0..field.components).map(component).collect()
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use nkn::domain::{Grid, PointCloud};

    /// A scalar function.
    pub fn scalar(name: &str, values: Vec<f64>) -> Field {
        Field { name: name.into(), components: 1, values }
    }

    /// A wave on the nodes of a grid in the unit interval, square or cube, predicted without an error.
    pub fn wave(shape: &[usize]) -> Comparison {
        let grid = Grid::unit(shape).unwrap();
        let wave: Vec<f64> = (0..grid.len()).map(|node| (6.0 * grid.point(node)[0]).sin()).collect();
        let output = Output { truth: scalar("u", wave.clone()), prediction: wave.clone(), relative_l2: 1e-3 };
        let inputs = vec![scalar("f", wave)];
        let (domain, outputs) = (grid.into(), vec![output]);
        Comparison { split: "Test", index: 7, rank: "", domain, inputs, outputs, relative_l2: 1e-3 }
    }

    /// A pressure and a velocity of as many components as axes on a spiral of points, the velocity predicted a half too large.
    pub fn spiral(dim: usize, count: usize) -> Comparison {
        let place = |k: usize, axis: usize| {
            let t = (k as f64 + 0.5) / count as f64;
            [0.5 + 0.5 * t.sqrt() * (2.4 * k as f64).cos(), 0.5 + 0.5 * t.sqrt() * (2.4 * k as f64).sin(), t][axis]
        };
        let points: Vec<f64> = (0..count).flat_map(|k| (0..dim).map(move |axis| place(k, axis))).collect();
        let pressure: Vec<f64> = (0..count).map(|k| place(k, 0)).collect();
        let velocity: Vec<f64> = points.iter().map(|x| x - 0.5).collect();
        let prediction = velocity.iter().map(|v| 1.5 * v).collect();
        let velocity = Field { name: "v".into(), components: dim, values: velocity };
        Comparison {
            split: "Test",
            index: 3,
            rank: "median",
            domain: PointCloud::new(dim, points, 1.0).unwrap().into(),
            inputs: vec![scalar("f", pressure.clone())],
            outputs: vec![Output::new(scalar("p", pressure.clone()), pressure), Output::new(velocity, prediction)],
            relative_l2: 0.25,
        }
    }

    #[test]
    fn inputs_stand_beside_outputs_as_long_as_there_are_any() {
        let names = |sample: &Comparison| -> Vec<(Vec<String>, Option<String>)> {
            let names = |row: Row| {
                (
                    row.inputs.iter().map(|field| field.name.clone()).collect(),
                    row.output.map(|one| one.truth.name.clone()),
                )
            };
            sample.rows().into_iter().map(names).collect()
        };
        let (f, a, g) = ("f".to_string(), "a".to_string(), "g".to_string());
        let mut sample = wave(&[5]);
        assert_eq!(names(&sample), [(vec![f.clone()], Some("u".into()))]);
        sample.inputs.extend([scalar("a", vec![0.0; 5]), scalar("g", vec![0.0; 5])]);
        assert_eq!(names(&sample), [(vec![f.clone()], Some("u".into())), (vec![a, g], None)]);
        assert_eq!(names(&spiral(2, 9)), [(vec![f], Some("p".into())), (vec![], Some("v".into()))]);
    }

    #[test]
    fn components_have_names_and_errors_of_their_own() {
        let sample = spiral(2, 9).by_component();
        let names: Vec<_> = sample.outputs.iter().map(|output| output.truth.name.as_str()).collect();
        assert_eq!(names, ["p", "v.0", "v.1"]);
        let errors: Vec<_> = sample.outputs.iter().map(|output| output.relative_l2).collect();
        assert!(errors[0] == 0.0 && errors[1..].iter().all(|error| (error - 0.5).abs() < 1e-12), "{errors:?}");
        assert_eq!(spiral(2, 9).outputs[1].error_in_words(), "50 % (components 50 %, 50 %)");
        assert_eq!((wave(&[5]).is_plain(), spiral(2, 9).is_plain()), (true, false));
    }

    #[test]
    fn a_heading_says_what_a_sample_is_for() {
        assert_eq!(wave(&[5]).heading(""), "<h3>Test sample 7</h3>\n");
        assert_eq!(Comparison { split: "Training", ..wave(&[5]) }.heading(""), "<h3>Training sample 7</h3>\n");
        let heading = spiral(2, 9).heading("error 1");
        assert_eq!(heading, "<h3>Test sample 3 <span class=\"aside\">median, error 1</span></h3>\n");
    }
}
