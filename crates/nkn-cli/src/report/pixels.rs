//! Images inside the page: PNG files as the addresses of `<image>` and `<img>`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The address of an image from red, green and blue of its pixels, row by row from the top.
pub fn data_uri(width: usize, pixels: &[[u8; 3]]) -> String {
    format!("data:image/png;base64,{}", STANDARD.encode(encode(width, pixels)))
}

/// The bytes of a PNG file; pixels beyond the last whole row are left out.
fn encode(width: usize, pixels: &[[u8; 3]]) -> Vec<u8> {
    let height = pixels.len() / width.max(1);
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::High);
    let written = encoder.write_header().and_then(|mut writer| {
        writer.write_image_data(pixels[..width * height].as_flattened())?;
        writer.finish()
    });
    // Memory cannot fail; an image without pixels has no file.
    written.map_or_else(|_| Vec::new(), |()| file)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Reads an address back: the width, and red, green and blue of each pixel.
    pub fn decode(address: &str) -> (usize, Vec<[u8; 3]>) {
        let text = address.strip_prefix("data:image/png;base64,").expect("a PNG file");
        let file = STANDARD.decode(text).expect("base64");
        let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().expect("a header");
        let mut bytes = vec![0; reader.output_buffer_size().expect("a size")];
        let frame = reader.next_frame(&mut bytes).expect("an image");
        assert_eq!((frame.color_type, frame.bit_depth), (png::ColorType::Rgb, png::BitDepth::Eight));
        (frame.width as usize, bytes.as_chunks().0.to_vec())
    }

    #[test]
    fn pixels_are_read_back_as_they_were() {
        for (width, height) in [(1, 1), (3, 2), (300, 301)] {
            let pixels: Vec<[u8; 3]> =
                (0..width * height).map(|k| [k % 251, k % 7, 255 - k % 256].map(|part| part as u8)).collect();
            assert_eq!(decode(&data_uri(width, &pixels)), (width, pixels));
        }
    }

    #[test]
    fn an_image_without_pixels_is_an_empty_address() {
        assert_eq!(data_uri(0, &[]), "data:image/png;base64,");
        assert_eq!(data_uri(3, &[]), "data:image/png;base64,");
    }
}
