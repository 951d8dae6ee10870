//! PNG images, just enough of the format for heat maps and photographs: nothing is compressed.

use std::slice::Chunks;

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// The largest number of bytes in a stored block of deflate.
const BLOCK: usize = 0xffff;

/// An image as the address of an `<image>`; `pixels` are places in the palette, row by row from the top.
pub fn data_uri(width: usize, palette: &[[u8; 3]], pixels: &[u8]) -> String {
    format!("data:image/png;base64,{}", base64(&encode(width, palette, pixels)))
}

/// The same for an image without a palette: red, green and blue of each pixel.
pub fn color_data_uri(width: usize, pixels: &[[u8; 3]]) -> String {
    let rows = pixels.as_flattened().chunks(3 * width.max(1));
    format!("data:image/png;base64,{}", base64(&file(width, None, rows)))
}

/// The bytes of a PNG file.
pub fn encode(width: usize, palette: &[[u8; 3]], pixels: &[u8]) -> Vec<u8> {
    file(width, Some(palette), pixels.chunks(width.max(1)))
}

/// The bytes of a PNG file from those of its rows; without a palette there are three to a pixel.
fn file(width: usize, palette: Option<&[[u8; 3]]>, rows: Chunks<u8>) -> Vec<u8> {
    let size = [width, rows.len()].map(|side| (side as u32).to_be_bytes()).concat();
    // Eight bits per place or colour; no choice of compression, filter and interlace.
    let header = [&size[..], &[8, if palette.is_some() { 3 } else { 2 }, 0, 0, 0]].concat();
    // Each row is preceded by its filter, 0 for none.
    let filtered: Vec<u8> = rows.flat_map(|row| [&[0], row].concat()).collect();
    let mut file = SIGNATURE.to_vec();
    let palette = palette.map(|palette| (b"PLTE", palette.concat()));
    let image = [(b"IDAT", zlib_stored(&filtered)), (b"IEND", Vec::new())];
    for (name, content) in [(b"IHDR", header)].into_iter().chain(palette).chain(image) {
        file.extend((content.len() as u32).to_be_bytes());
        let checked = [&name[..], &content].concat();
        file.extend(&checked);
        file.extend(crc32(&checked).to_be_bytes());
    }
    file
}

/// A zlib stream of stored blocks (RFC 1950 and 1951).
fn zlib_stored(bytes: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    let blocks = bytes.chunks(BLOCK);
    let last = blocks.len().saturating_sub(1);
    for (k, block) in blocks.enumerate() {
        let length = block.len() as u16;
        stream.push(u8::from(k == last));
        stream.extend(length.to_le_bytes());
        stream.extend((!length).to_le_bytes());
        stream.extend(block);
    }
    stream.extend(adler32(bytes).to_be_bytes());
    stream
}

/// The checksum of PNG's chunks.
pub fn crc32(bytes: &[u8]) -> u32 {
    let shift = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), shift))
}

/// The checksum of zlib.
pub fn adler32(bytes: &[u8]) -> u32 {
    let (sum, sums) = bytes.iter().fold((1, 0), |(sum, sums), &byte| {
        let sum = (sum + u32::from(byte)) % 65_521;
        (sum, (sums + sum) % 65_521)
    });
    sums << 16 | sum
}

/// Base64 with padding (RFC 4648).
pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, k| bits << 8 | usize::from(three.get(k).copied().unwrap_or(0)));
        for k in 0..4 {
            text.push(if k <= three.len() { char::from(DIGITS[bits >> (18 - 6 * k) & 63]) } else { '=' });
        }
    }
    text
}
