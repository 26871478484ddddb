import { describe, expect, it } from 'vitest'
import {
  bindingOf,
  isThumbprint,
  NO_CERTIFICATE,
  readConfirmation,
} from '../../../../src/boundary/plan/certificate-binding.ts'

const ONE = '47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU'
const OTHER = 'ypeBEsobvcr6wjGzmiPcTaeG7_gUfE5yuYB3ha_uSLs'

describe('the claim cnf', () => {
  it('binds a token to a certificate, or is missing', () => {
    expect(readConfirmation({ 'x5t#S256': ONE })).toBe(ONE)
    expect(readConfirmation(undefined)).toBe('')
  })

  it.each([
    ['null', null],
    ['a text', ONE],
    ['a list', [{ 'x5t#S256': ONE }]],
    ['no member', {}],
    ['the thumbprint of a key (DPoP)', { jkt: ONE }],
    ['a certificate and a key', { 'x5t#S256': ONE, jkt: ONE }],
    ['a certificate by another hash', { x5t: ONE }],
    ['a short thumbprint', { 'x5t#S256': ONE.slice(1) }],
    ['a long thumbprint', { 'x5t#S256': `${ONE}A` }],
    ['a thumbprint with a line end', { 'x5t#S256': `${ONE}\n` }],
    ['a thumbprint in base64', { 'x5t#S256': ONE.replace('_', '/') }],
    ['a thumbprint whose unused bits are set', { 'x5t#S256': `${ONE.slice(0, -1)}V` }],
    ['no text', { 'x5t#S256': 7 }],
    ['an inherited member', JSON.parse(`{"__proto__": {"x5t#S256": "${ONE}"}}`)],
  ])('with %s binds to what cannot be checked', (_, cnf) => {
    expect(readConfirmation(cnf)).toBe(null)
  })
})

describe('the certificate of a token', () => {
  it.each([
    ['', undefined, ''],
    [ONE, undefined, ONE],
    ['', ONE, ONE],
    [ONE, ONE, ONE],
    [ONE, OTHER, NO_CERTIFICATE],
  ])('with %j, of a credential with %j, is %j', (token, credential, expected) => {
    expect(bindingOf(token, credential)).toBe(expected)
  })

  it('is none if that of its credential is another one', () => {
    expect(isThumbprint(NO_CERTIFICATE)).toBe(false)
  })
})
