import { describe, expect, it } from 'vitest'
import { isLoopbackUri, isRegisteredUri } from '../../../../src/control/access/redirect-uri.ts'

const REGISTERED = [
  'https://app.example/back',
  'http://127.0.0.1/back',
  'http://[::1]:80/back?x=y',
  'com.example.app:/back',
]

describe('a redirect URI of a request', () => {
  it('is compared character by character, except for the port of a loopback host', () => {
    for (const uri of [
      ...REGISTERED,
      'http://127.0.0.1:50123/back',
      'http://[::1]:9/back?x=y',
      'http://[::1]/back?x=y',
    ]) {
      expect(isRegisteredUri(REGISTERED, uri), uri).toBe(true)
    }
    for (const uri of [
      'https://app.example:8443/back',
      'https://127.0.0.1/back',
      'http://localhost/back',
      'http://127.0.0.1:50123/other',
      'http://127.0.0.1:50123/back?x',
      'http://127.0.0.1:50123/back#x',
      'http://127.0.0.1:50123back',
      'http://127.0.0.1:99999/back',
      'http://127.0.0.1:1@evil.example/back',
      'http://127.0.0.1.evil.example/back',
      'http://127.0.0.1:1\\@evil.example/back',
      'HTTP://127.0.0.1:1/back',
      `http://127.0.0.1:1/${'x'.repeat(10_000)}`,
      '',
    ]) {
      expect(isRegisteredUri(REGISTERED, uri), uri).toBe(false)
    }
  })

  it('leads to the computer of the browser only with the address of a loopback host', () => {
    for (const uri of ['http://127.0.0.1/', 'http://127.0.0.1:1/x?y=z', 'http://[::1]:65535/back']) {
      expect(isLoopbackUri(uri), uri).toBe(true)
    }
    for (const uri of [
      'http://127.0.0.1',
      'http://localhost:1/',
      'https://127.0.0.1:1/',
      'http://127.0.0.1:1@evil.example/',
      'http://127.0.0.2:1/',
      'http://127.0.0.1:65536/',
      'http://127.0.0.1:1/#x',
      'http://127.0.0.1:1/\u0000',
      'javascript:alert(1)',
    ]) {
      expect(isLoopbackUri(uri), uri).toBe(false)
    }
  })
})
