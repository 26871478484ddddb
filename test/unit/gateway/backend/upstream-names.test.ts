/** Holds what `upstream-names.ts` takes from the inside of undici; a release that moves it fails here. */

import { describe, expect, it } from 'vitest'
import { registerHeaderNames, findNameTable } from '../../../../src/gateway/backend/upstream-names.ts'

describe('the table of header names of undici', () => {
  it('is found, and keeps its own names', () => {
    expect(findNameTable()).toMatchObject({ 'Content-Type': 'content-type', 'content-type': 'content-type' })
  })

  it('knows the headers that the gateway adds, in both spellings', () => {
    registerHeaderNames()
    expect(findNameTable()).toMatchObject({
      'X-Consumer-Id': 'x-consumer-id',
      'x-consumer-id': 'x-consumer-id',
      traceparent: 'traceparent',
    })
  })
})
