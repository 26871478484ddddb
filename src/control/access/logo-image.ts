/**
 * Checks the image of a logo by its bytes: PNG, JPEG or WebP, small in bytes and in pixels.
 *
 * A small file can hold an image that fills the memory of a browser, so its size in pixels is read from its header. SVG is a document
 * with scripts, and is refused like every other type.
 */

export interface LogoImage {
  readonly mediaType: 'image/png' | 'image/jpeg' | 'image/webp'
  readonly width: number
  readonly height: number
}

export const LOGO_BYTES_MAX = 64 * 1024
export const LOGO_PIXELS_MAX = 1_024

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
/** Start-of-frame markers of JPEG, without those that define tables. */
const FRAMES = new Set([0xc0, 0xc1, 0xc2, 0xc3, 0xc5, 0xc6, 0xc7, 0xc9, 0xca, 0xcb, 0xcd, 0xce, 0xcf])
const START_OF_SCAN = 0xda

/** Returns null for bytes that are no image of these types, or whose size cannot be read. */
export function readLogo(bytes: Buffer): LogoImage | null {
  return readPng(bytes) ?? readJpeg(bytes) ?? readWebp(bytes)
}

/** The first chunk is `IHDR`: its length, its type, width and height. */
function readPng(bytes: Buffer): LogoImage | null {
  if (bytes.length < 33 || !bytes.subarray(0, 8).equals(PNG) || bytes.toString('latin1', 12, 16) !== 'IHDR') return null
  return { mediaType: 'image/png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
}

/** Segments follow each other, each with its length, up to the frame. */
function readJpeg(bytes: Buffer): LogoImage | null {
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== 0xffd8) return null
  for (let at = 2; at + 9 <= bytes.length;) {
    const marker = bytes[at + 1] ?? 0
    if (bytes[at] !== 0xff || marker === START_OF_SCAN) return null
    if (FRAMES.has(marker)) {
      return { mediaType: 'image/jpeg', width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) }
    }
    const length = bytes.readUInt16BE(at + 2)
    if (length < 2) return null
    at += 2 + length
  }
  return null
}

function readWebp(bytes: Buffer): LogoImage | null {
  if (bytes.length < 30 || bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WEBP') {
    return null
  }
  const size = webpSize(bytes)
  return size === null ? null : { mediaType: 'image/webp', ...size }
}

function webpSize(bytes: Buffer): Pick<LogoImage, 'width' | 'height'> | null {
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8X':
      return { width: 1 + bytes.readUIntLE(24, 3), height: 1 + bytes.readUIntLE(27, 3) }
    case 'VP8 ':
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21)
      return { width: 1 + (bits & 0x3fff), height: 1 + ((bits >>> 14) & 0x3fff) }
    }
    default:
      return null
  }
}
