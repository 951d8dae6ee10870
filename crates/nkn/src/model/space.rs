//! What a network acts on: functions on a domain, or images.

use super::config::Kind;
use crate::field::images::Resampling;
use serde::{Deserialize, Serialize};

/// The sizes that the data give, besides the number of nodes, which is free.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Space {
    /// Functions on a domain of so many dimensions.
    Functions {
        /// Coordinates of a node.
        dim: usize,
    },
    /// Square images of some classes.
    Images(ImageShape),
}

/// The sizes of images.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImageShape {
    /// Pixels along a side of the training images.
    pub side: usize,
    /// 1 or 3.
    pub channels: usize,
    /// The side of the square that an image covers, in pixels of the original images: what the radius is measured in.
    pub extent: f64,
    /// The number of classes.
    pub classes: usize,
    /// How images of other resolutions are made, and so how the network goes from one to another inside.
    #[serde(default)]
    pub resampling: Resampling,
}

impl Space {
    /// The networks that can act on it.
    pub fn kinds(&self) -> &'static [Kind] {
        match self {
            Space::Functions { .. } => &[Kind::Nkn, Kind::Gkn, Kind::Fno],
            Space::Images(_) => &[Kind::Nkn, Kind::Cnn, Kind::MultiscaleCnn, Kind::Nnn, Kind::Preresnet],
        }
    }

    /// For people.
    pub fn title(&self) -> &'static str {
        match self {
            Space::Functions { .. } => "functions",
            Space::Images(_) => "images",
        }
    }

    /// The dimension of space: pixels lie in the plane.
    pub fn dim(&self) -> usize {
        match self {
            Space::Functions { dim } => *dim,
            Space::Images(_) => 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_say_how_images_were_resampled_and_old_ones_mean_the_usual_way() {
        let old = r#"{"images":{"side":28,"channels":1,"extent":28.0,"classes":10}}"#;
        let Space::Images(shape) = serde_json::from_str(old).unwrap() else { panic!("images") };
        assert_eq!(shape.resampling, Resampling::Centred);
        let new = Space::Images(ImageShape { resampling: Resampling::Aligned, ..shape });
        let text = serde_json::to_string(&new).unwrap();
        assert!(text.contains(r#""resampling":"aligned""#), "{text}");
        assert_eq!(serde_json::from_str::<Space>(&text).unwrap(), new);
    }
}
