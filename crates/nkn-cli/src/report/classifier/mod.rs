//! The page of an image classifier: one HTML file that shows how well it classifies at each resolution, what it confuses,
//! and what its kernels look like.
//!
//! [`ClassifierPage`] is what a run has to say, [`page`] renders it. As in the other reports, the page needs nothing else,
//! what is missing from the data is left out, and numbers that are not finite are skipped in figures.

mod confusion;
mod examples;
mod stencils;
#[cfg(test)]
mod tests;
mod training;

use crate::report::text::{NOT_FINITE, escape};
use crate::report::{section, tables};

/// Everything that the page shows.
#[derive(Debug, Clone, Default)]
pub struct ClassifierPage {
    /// The heading, in plain text.
    pub title: String,
    /// Names and values, for example ("parameters", "67,016").
    pub summary: Vec<(String, String)>,
    /// The names of the classes, in the order of their numbers.
    pub classes: Vec<String>,
    /// What was measured during the training, in the order of the epochs.
    pub curves: Vec<CurvePoint>,
    /// The evaluation after the training, one entry per resolution.
    pub resolutions: Vec<ResolutionPart>,
    /// Learned kernels, each at one pixel.
    pub stencils: Vec<StencilPart>,
}

/// What was measured after one epoch.
#[derive(Debug, Clone, Default)]
pub struct CurvePoint {
    /// The number of epochs done.
    pub epoch: usize,
    /// The training loss.
    pub train_loss: f64,
    /// Sides of the test images, and the error rate there, from 0 to 1; empty if it was not evaluated.
    pub errors: Vec<(usize, f64)>,
}

/// The evaluation at one resolution.
#[derive(Debug, Clone, Default)]
pub struct ResolutionPart {
    /// The number of pixels along the side of an image.
    pub side: usize,
    /// Whether the network was trained on images of this size.
    pub is_training: bool,
    /// The share of the images that were classified wrongly, from 0 to 1.
    pub error_rate: f64,
    /// The same for the official test set, if it was evaluated.
    pub official_error_rate: Option<f64>,
    /// The number of images.
    pub count: usize,
    /// How many images of each class (first index) were taken for each class (second index).
    pub confusion: Vec<Vec<usize>>,
    /// Some of the images that were classified wrongly.
    pub wrong: Vec<WrongExample>,
}

/// An image that was classified wrongly.
#[derive(Debug, Clone, Default)]
pub struct WrongExample {
    /// The channels one after the other, each row by row from the top.
    pub pixels: Vec<u8>,
    /// One for grey, three for red, green and blue.
    pub channels: usize,
    /// The number of pixels along the side.
    pub side: usize,
    /// The number of its class.
    pub truth: usize,
    /// The number of the class it was taken for.
    pub predicted: usize,
    /// The probability that the network gave to the predicted class.
    pub probability: f64,
}

/// A learned kernel around one pixel.
#[derive(Debug, Clone, Default)]
pub struct StencilPart {
    /// What kernel it is, in plain text.
    pub title: String,
    /// The radius of the neighbourhood, in fine pixels.
    pub radius: f64,
    /// The pixel at which the kernel is looked at, in pixels.
    pub x: (f64, f64),
    /// Where each neighbour lies from there: to the right and downwards, in fine pixels.
    pub offsets: Vec<(f64, f64)>,
    /// The width of a neighbour's cell, in fine pixels.
    pub cell: f64,
    /// The block w K of each neighbour, row by row.
    pub blocks: Vec<Vec<f64>>,
    /// The number of rows and of columns of a block.
    pub width: usize,
}

/// Renders the page.
pub fn page(page: &ClassifierPage) -> String {
    format!(
        include_str!("page.html"),
        style = include_str!("../style.css"),
        own_style = include_str!("style.css"),
        title = escape(&page.title),
        facts = tables::facts(&page.summary),
        training = section("Training", training::figure(&page.curves, &page.resolutions)),
        resolutions = section("Errors and confusions", confusion::parts(&page.resolutions, &page.classes)),
        examples = section("Wrong examples", examples::parts(&page.resolutions, &page.classes)),
        stencils = section("Learned kernels", stencils::figures(&page.stencils)),
    )
}

/// An error rate or a probability, as in 1.23 %.
fn rate(value: f64) -> String {
    if value.is_finite() { format!("{:.2} %", 100.0 * value) } else { NOT_FINITE.to_owned() }
}

/// The size of an image.
fn size(side: usize) -> String {
    format!("{side} × {side}")
}

/// The name of a class as markup; its number if it has no name.
fn class_name(classes: &[String], class: usize) -> String {
    classes.get(class).filter(|name| !name.is_empty()).map_or_else(|| class.to_string(), |name| escape(name))
}

impl ResolutionPart {
    /// The number of images of a class.
    fn images_of(&self, truth: usize) -> usize {
        self.confusion.get(truth).map_or(0, |row| row.iter().sum())
    }

    /// Truth, prediction and count of each kind of error that occurred.
    fn errors(&self) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
        let entries = self.confusion.iter().enumerate();
        let entries = entries.flat_map(|(truth, row)| row.iter().enumerate().map(move |(j, &count)| (truth, j, count)));
        entries.filter(|&(truth, predicted, count)| truth != predicted && count > 0)
    }

    /// The heading of the resolution's part of a section, with a remark in plain text.
    fn heading(&self, remark: &str) -> String {
        let training = if self.is_training { ", the training resolution" } else { "" };
        format!("<h3>{} pixels{training} <span class=\"aside\">{}</span></h3>\n", size(self.side), escape(remark))
    }
}
