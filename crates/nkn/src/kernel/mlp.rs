//! The multilayer perceptron behind the kernel k(x, y, b(x), b(y); v) and the reaction R(x; w):
//! linear layers with ReLU between them, all parameters in one flat vector.

use crate::{Error, Result, seed::Seed};

/// More parameters than this (32 GiB, and an optimiser wants several copies) no machine holds that this is for.
const MOST_PARAMETERS: usize = 1 << 33;

/// The widths of a perceptron and what happens to its last layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MlpShape {
    widths: Vec<usize>,
    activate_last: bool,
}

/// Where one linear layer's numbers lie in the flat parameter vector: the weight, `outputs` x `inputs` row by row
/// (PyTorch's layout), then the bias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerSpan {
    /// Width of the layer's input.
    pub inputs: usize,
    /// Width of its output.
    pub outputs: usize,
    /// Where the weight begins.
    pub start: usize,
}

impl LayerSpan {
    /// Where the bias begins.
    pub fn bias(&self) -> usize {
        self.start + self.inputs * self.outputs
    }

    /// One past the layer's last number.
    pub fn end(&self) -> usize {
        self.bias() + self.outputs
    }
}

impl MlpShape {
    /// A perceptron with these widths, input and output included, and a linear last layer.
    pub fn new(name: &str, widths: &[usize]) -> Result<Self> {
        let refuse = |expected: String, hint: &str| {
            Err(Error::invalid(format!("widths of the {name} network"), expected, format!("{widths:?}"), hint))
        };
        if widths.len() < 2 || widths.contains(&0) {
            return refuse("at least two widths, each 1 or more".into(), "give one positive number per hidden layer");
        }
        let layer = |pair: &[usize]| pair[0].checked_add(1)?.checked_mul(pair[1]);
        let count = widths.windows(2).try_fold(0usize, |sum, pair| sum.checked_add(layer(pair)?));
        if count.is_none_or(|count| count > MOST_PARAMETERS) {
            let hint = "the last width of a kernel is the square of model.width: lower that, or the hidden widths";
            return refuse(format!("at most {MOST_PARAMETERS} parameters"), hint);
        }
        Ok(Self { widths: widths.to_vec(), activate_last: false })
    }

    /// All layers but the last, with the activation after each: what remains of a kernel network when its
    /// last, linear layer is left to the assembly. `None` when there is only one layer.
    pub fn hidden(&self) -> Option<Self> {
        (self.widths.len() > 2)
            .then(|| Self { widths: self.widths[..self.widths.len() - 1].to_vec(), activate_last: true })
    }

    /// Width of the input.
    pub fn inputs(&self) -> usize {
        self.widths[0]
    }

    /// Width of the output.
    pub fn outputs(&self) -> usize {
        self.widths[self.widths.len() - 1]
    }

    /// Whether layer `index` is followed by ReLU.
    pub fn activates(&self, index: usize) -> bool {
        self.activate_last || index + 2 < self.widths.len()
    }

    /// The layers in order.
    pub fn layers(&self) -> Vec<LayerSpan> {
        let mut start = 0;
        let layer = |pair: &[usize]| {
            let layer = LayerSpan { inputs: pair[0], outputs: pair[1], start };
            start = layer.end();
            layer
        };
        self.widths.windows(2).map(layer).collect()
    }

    /// Number of parameters.
    pub fn parameters(&self) -> usize {
        self.widths.windows(2).map(|w| (w[0] + 1) * w[1]).sum()
    }

    /// Floating point operations of one forward evaluation of one row.
    pub fn flops(&self) -> f64 {
        self.widths.windows(2).map(|w| 2.0 * (w[0] * w[1]) as f64).sum()
    }

    /// Random parameters: uniform in ±1/sqrt(inputs) for weights and biases, as PyTorch's `Linear` draws them.
    pub fn init(&self, seed: Seed) -> Vec<f32> {
        let layers = self.layers().into_iter().zip(0..);
        layers
            .flat_map(|(layer, index)| init_linear(layer.inputs, layer.outputs, seed.derive("layer", index)))
            .collect()
    }
}

/// A linear layer's random weight and bias, uniform in ±1/sqrt(inputs).
pub fn init_linear(inputs: usize, outputs: usize, seed: Seed) -> Vec<f32> {
    let bound = 1.0 / (inputs as f64).sqrt();
    let mut rng = seed.rng();
    (0..(inputs + 1) * outputs).map(|_| crate::seed::uniform(&mut rng, -bound, bound) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_tile_the_vector() {
        let shape = MlpShape::new("kernel", &[6, 512, 1024, 4096]).unwrap();
        assert_eq!(shape.parameters(), 4_727_296);
        let layers = shape.layers();
        assert_eq!(layers[0].start, 0);
        assert!(layers.windows(2).all(|l| l[0].end() == l[1].start));
        assert_eq!(layers[2].end(), shape.parameters());
        let hidden = shape.hidden().unwrap();
        assert_eq!(hidden.parameters(), layers[2].start);
        assert!(hidden.activates(1) && !shape.activates(2));
    }

    #[test]
    fn zero_widths_are_refused() {
        let message = MlpShape::new("kernel", &[2, 0, 1]).unwrap_err().to_string();
        assert!(message.contains("kernel") && message.contains('0'), "{message}");
    }

    #[test]
    fn impossible_widths_are_refused() {
        let square = |width: usize| width.saturating_mul(width);
        for widths in [vec![6, 512, square(100_000_000)], vec![usize::MAX, usize::MAX], vec![2, 1 << 32, 2]] {
            let message = MlpShape::new("kernel", &widths).unwrap_err().to_string();
            assert!(message.contains("at most 8589934592 parameters"), "{message}");
        }
        assert_eq!(MlpShape::new("kernel", &[2, 256, 256, 1]).unwrap().parameters(), 66_817);
        assert!(MlpShape::new("kernel", &[6, 1024, 512 * 512]).is_ok());
    }
}
