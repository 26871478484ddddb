import { describe, expect, it } from 'vitest'
import { preferredType } from '../../../../src/foundation/runtime/accept.ts'

const JSON_TYPE = 'application/json'
const CSV_TYPE = 'text/csv; charset=utf-8; header=present'

describe('the preferred media type', () => {
  it.each<[string | undefined, string | null]>([
    [undefined, JSON_TYPE],
    ['', null],
    ['*/*', JSON_TYPE],
    ['text/csv', CSV_TYPE],
    ['text/*', CSV_TYPE],
    ['text/csv, */*', CSV_TYPE],
    ['TEXT/CSV; header=present', CSV_TYPE],
    ['text/csv; header=absent', null],
    ['text/csv;q=0, application/json', JSON_TYPE],
    ['text/csv, application/json', CSV_TYPE],
    ['application/json, text/csv', JSON_TYPE],
    ['application/json;q=0.5, text/csv;q=0.9', CSV_TYPE],
    ['image/png', null],
    ['text/csv;q=', CSV_TYPE],
    [';;,,;q', null],
  ])('of Accept %j is %j', (accept, expected) => {
    expect(preferredType(accept, [JSON_TYPE, CSV_TYPE])).toBe(expected)
  })

  it('is found in a header as long as a caller may send', () => {
    expect(preferredType(`${'text/x;q=0.1,'.repeat(1_000)}text/csv`, [JSON_TYPE, CSV_TYPE])).toBe(CSV_TYPE)
  })
})
