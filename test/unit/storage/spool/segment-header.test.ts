import { describe, expect, it } from 'vitest'
import { decodeHeader, encodeHeader } from '../../../../src/storage/spool/segment-header.ts'

const HEADER = {
  ...{ madeMs: 5, requestPrefix: '0123456789abcdef', firstRecord: 7, continues: 3, isReleased: false },
  ...{ place: 4_000_000_001, folder: 9 },
}

describe('the header of a segment', () => {
  it('is decoded as it was encoded', () => {
    expect(decodeHeader(encodeHeader(HEADER))).toEqual(HEADER)
  })

  it('is refused with any changed bit', () => {
    const bytes = encodeHeader(HEADER)
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      bytes[bit >> 3]! ^= 1 << (bit & 7)
      expect(decodeHeader(bytes), `bit ${bit}`).toBeNull()
      bytes[bit >> 3]! ^= 1 << (bit & 7)
    }
  })

  it('is refused if its format is changed to the older one, which has no checksum', () => {
    const bytes = encodeHeader(HEADER)
    bytes.write('TGSPOOL1', 'latin1')
    expect(decodeHeader(bytes)).toBeNull()
  })
})
