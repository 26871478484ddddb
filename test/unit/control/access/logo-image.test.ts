import { describe, expect, it } from 'vitest'
import { readLogo } from '../../../../src/control/access/logo-image.ts'
import { jpeg, png, webp } from '../../../fixtures/images.ts'

describe('the type and the size of a logo', () => {
  it.each([
    ['a PNG', png(40, 30), { mediaType: 'image/png', width: 40, height: 30 }],
    ['a JPEG', jpeg(40, 30), { mediaType: 'image/jpeg', width: 40, height: 30 }],
    ['a WebP of each kind (VP8X)', webp('VP8X', 40, 30), { mediaType: 'image/webp', width: 40, height: 30 }],
    ['a WebP of each kind (VP8L)', webp('VP8L', 40, 30), { mediaType: 'image/webp', width: 40, height: 30 }],
    ['a WebP of each kind (VP8)', webp('VP8 ', 40, 30), { mediaType: 'image/webp', width: 40, height: 30 }],
    [
      'a PNG that would fill the memory',
      png(65_535, 65_535),
      { mediaType: 'image/png', width: 65_535, height: 65_535 },
    ],
  ])('are read from the bytes of %s', (_, bytes, expected) => {
    expect(readLogo(bytes)).toEqual(expected)
  })

  it.each([
    ['SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'.padEnd(80))],
    ['HTML', Buffer.from('<!doctype html><script>alert(1)</script>'.padEnd(80))],
    ['GIF', Buffer.from('GIF89a'.padEnd(80))],
    ['a PNG that ends in its header', png(40, 30).subarray(0, 30)],
    ['a PNG whose first chunk is another', Buffer.concat([png(1, 1).subarray(0, 12), Buffer.from('tEXt'.padEnd(60))])],
    ['a JPEG without a frame', Buffer.from([0xff, 0xd8, 0xff, 0xda, 0, 8, 1, 1, 1, 1, 1, 1])],
    ['a JPEG whose segments have no length', Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 0, 0, 0, 0, 0, 0, 0])],
    ['a JPEG that is broken off', jpeg(40, 30).subarray(0, 8)],
    ['RIFF of another form', Buffer.from('RIFFxxxxWAVE'.padEnd(60))],
    ['a WebP of no kind', Buffer.from('RIFFxxxxWEBPxxxx'.padEnd(60))],
    ['nothing', Buffer.alloc(0)],
  ])('are not read from %s', (_, bytes) => {
    expect(readLogo(bytes)).toBeNull()
  })
})
