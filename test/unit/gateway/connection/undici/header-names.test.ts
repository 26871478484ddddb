/** Fails if a release of undici moves the internals that `header-names.ts` uses. */

import { describe, expect, it } from 'vitest'
import { registerHeaderNames, findNameTable } from '../../../../../src/gateway/connection/undici/header-names.ts'

describe('the table of header names of undici', () => {
  it('is found, with its own names', () => {
    expect(findNameTable()).toMatchObject({ 'Content-Type': 'content-type', 'content-type': 'content-type' })
  })

  it('contains the headers that the gateway adds, in both spellings', () => {
    registerHeaderNames()
    expect(findNameTable()).toMatchObject({
      'X-Consumer-Id': 'x-consumer-id',
      'x-consumer-id': 'x-consumer-id',
      traceparent: 'traceparent',
    })
  })
})
