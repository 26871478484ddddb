import { describe, expect, it } from 'vitest'
import { compile, faultsOf, get, RESPONSES } from './compiled-plans.ts'

describe('the security of an operation', () => {
  const securityOf = async (security: unknown, document: object = {}) => {
    const { operations } = await compile(get(security === undefined ? {} : { security }), document)
    return operations[0]?.security
  }
  const token = (...tokenScopes: string[]) => ({ tokenScopes, apiKey: false, keyScopes: [] })
  const key = (...keyScopes: string[]) => ({ tokenScopes: null, apiKey: true, keyScopes })

  it('requires the default scopes of the technical name if the document declares no security', async () => {
    const { operations } = await compile({
      '/a': {
        get: { responses: RESPONSES },
        head: { responses: RESPONSES },
        options: { responses: RESPONSES },
        put: { responses: RESPONSES },
      },
    })
    const read = [token('shop-v1:read'), key('shop-v1:read')]
    const write = [token('shop-v1:write'), key('shop-v1:write')]
    expect(Object.fromEntries(operations.map(({ method, security }) => [method, security]))).toEqual({
      GET: read,
      HEAD: read,
      OPTIONS: read,
      PUT: write,
    })
  })

  it('overrides that of the document', async () => {
    const document = { security: [{ oauth: ['r'] }] }
    expect(await securityOf(undefined, document)).toEqual([token('r')])
    expect(await securityOf([{ bearer: [] }], document)).toEqual([token()])
    expect(await securityOf([], document)).toEqual([])
    expect(await securityOf([{ oauth: ['r'] }, {}], document)).toEqual([])
  })

  it('requires the same scopes of a key as of a token, by alternative', async () => {
    expect(await securityOf([{ key: [] }])).toEqual([key()])
    expect(await securityOf([{ key: [] }, { oauth: ['r', 'w'] }])).toEqual([key('r', 'w'), token('r', 'w')])
    expect(await securityOf([{ oauth: ['r'] }, { oauth: ['w'] }, { key: [] }])).toEqual([
      token('r'),
      token('w'),
      key('r'),
      key('w'),
    ])
  })

  it('requires all schemes of one alternative', async () => {
    expect(await securityOf([{ oauth: ['r'], bearer: [], key: [] }])).toEqual([
      { tokenScopes: ['r'], apiKey: true, keyScopes: ['r'] },
    ])
  })

  it('never grants access by a scheme that cannot be verified', async () => {
    expect(await securityOf([{ basic: [] }, { oauth: ['r'] }, { oauth: [], basic: [] }])).toEqual([token('r')])
    expect(await faultsOf(compile(get({ security: [{ basic: [] }] })))).toEqual([
      expect.stringMatching(/^\/paths\/~1a\/get\/security The gateway supports OAuth 2.0/),
    ])
    expect(await faultsOf(compile(get({ security: [{ typo: [] }] })))).toContain(
      '/paths/~1a/get/security/0/typo The document does not declare a security scheme of this name.',
    )
  })
})
