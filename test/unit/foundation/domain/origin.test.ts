import { describe, expect, it } from 'vitest'
import { toOrigin } from '../../../../src/foundation/domain/origin.ts'

describe('toOrigin', () => {
  it.each([
    ['https://app.example', 'https://app.example'],
    ['http://app.example:8080', 'http://app.example:8080'],
    ['HTTPS://App.Example:443', 'https://app.example'],
    ['https://bücher.example', 'https://xn--bcher-kva.example'],
    ['http://127.0.0.1:3000', 'http://127.0.0.1:3000'],
    ['http://[::1]:3000', 'http://[::1]:3000'],
    ['http://localhost', 'http://localhost'],
  ])('returns %j as browsers send it: %j', (text, origin) => {
    expect(toOrigin(text)).toBe(origin)
  })

  it.each([
    '',
    'null',
    '*',
    'https://',
    'https://*.example',
    'https://*',
    'https://app.example/',
    'https://app.example/path',
    'https://app.example?q',
    'https://app.example#f',
    'https://app.example.',
    'https://app..example',
    'https://user@app.example',
    'https://app.example\\.evil.example',
    'https://%61pp.example',
    'https://app.example:99999',
    'https://app.example:',
    ' https://app.example',
    'https://app.example\r\nX: y',
    'https://a.example,https://b.example',
    'app.example',
    '//app.example',
    'ftp://app.example',
    'file://',
    'javascript:alert(1)',
    `https://${'a'.repeat(300)}`,
  ])('returns null for %j', (text) => {
    expect(toOrigin(text)).toBe(null)
  })
})
