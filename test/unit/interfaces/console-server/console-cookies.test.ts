import { describe, expect, it } from 'vitest'
import { createConsoleCookies } from '../../../../src/interfaces/console-server/console-cookies.ts'

const BASE = 'https://platform.example'

describe('the cookie of a session', () => {
  it.each([
    [BASE, 'https://gateway.example', '__Host-tollgate-console=id; Path=/; HttpOnly; Secure; SameSite=Strict'],
    [BASE, `${BASE}:8443`, '__Secure-tollgate-console=id; Path=/console; HttpOnly; Secure; SameSite=Strict'],
    ['http://localhost:8081', 'http://localhost:8080', 'tollgate-console=id; Path=/console; HttpOnly; SameSite=Strict'],
    ['http://10.0.0.1', 'http://10.0.0.2', 'tollgate-console=id; Path=/; HttpOnly; SameSite=Strict'],
  ])('at %s, with the gateway at %s', (baseUrl, gatewayUrl, expected) => {
    const { session } = createConsoleCookies({ baseUrl, gatewayUrl })
    expect(session.set('id')).toBe(expected)
    expect(session.clear()).toBe(`${expected.replace('=id', '=')}; Max-Age=0`)
    expect(session.read(`other=1; ${session.set('id').split(';')[0]}`)).toBe('id')
  })

  it.each([
    undefined,
    '',
    'other=id',
    '__Host-tollgate-console',
    '__Host-tollgate-console=a; __Host-tollgate-console=b',
  ])('is not in %j', (header) => {
    const { session } = createConsoleCookies({ baseUrl: BASE, gatewayUrl: 'https://gateway.example' })
    expect(session.read(header)).toBeNull()
  })
})
