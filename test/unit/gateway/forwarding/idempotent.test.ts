import { METHODS } from 'node:http'
import { describe, expect, it } from 'vitest'
import { isIdempotent } from '../../../../src/gateway/forwarding/idempotent.ts'

describe('an idempotent request', () => {
  it('has a method that RFC 9110 calls so, in the case of HTTP', () => {
    const names = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PUT', 'TRACE']
    const methods = [...METHODS, 'get', 'Put', 'PURGEX', 'constructor', '']
    expect(methods.filter((method) => isIdempotent(method, false)).toSorted()).toEqual(names)
  })

  it('is not one that asks for a WebSocket', () => {
    expect(isIdempotent('GET', true)).toBe(false)
  })
})
