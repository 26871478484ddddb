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
    expect(await faultsOf(compile(get({ security: [{ typo: [] }] })))).toContain(
      '/paths/~1a/get/security/0/typo The document does not declare a security scheme of this name.',
    )
  })

  const schemes = (more: object) => ({ components: { securitySchemes: more } })
  const oauth = { type: 'oauth2', flows: { clientCredentials: { tokenUrl: '/t', scopes: { r: '' } } } }

  it.each([
    ['HTTP basic', { type: 'http', scheme: 'basic' }],
    ['HTTP digest', { type: 'http', scheme: 'digest' }],
    ['mutual TLS', { type: 'mutualTLS' }],
  ])('is a fault with advice if %s is the only scheme', async (name, only) => {
    const document = { openapi: '3.1.0', security: [{ only: [] }], ...schemes({ only }) }
    expect(await faultsOf(compile(get({}), document))).toEqual([
      `/components/securitySchemes/only The gateway does not implement ${name}. Use OAuth 2.0 with client credentials or an API key, or add \`x-tollgate-security: ignore\` to leave the scheme out.`,
    ])
  })

  it('leaves out an ignored scheme, alone and beside others', async () => {
    const document = schemes({ oauth, basic: { type: 'http', scheme: 'basic', 'x-tollgate-security': 'ignore' } })
    expect(await securityOf([{ basic: [] }, { oauth: ['r'] }], document)).toEqual([token('r')])
    expect(await securityOf([{ basic: [], oauth: ['r'] }], document)).toEqual([token('r')])
    expect(await securityOf([], document)).toEqual([])
  })

  it('never becomes public because all of its schemes are ignored', async () => {
    const document = schemes({ a: { ...oauth, 'x-tollgate-security': 'ignore' } })
    expect(await faultsOf(compile(get({ security: [{ a: [] }] }), document))).toEqual([
      expect.stringMatching(/^\/paths\/~1a\/get\/security All security schemes of the operation are ignored\./),
    ])
  })

  it('resolves a scheme that is a reference', async () => {
    const document = schemes({ a: { $ref: '#/components/securitySchemes/b' }, b: { type: 'http', scheme: 'basic' } })
    expect(await faultsOf(compile(get({ security: [{ a: [] }] }), document))).toEqual([
      expect.stringMatching(/^\/components\/securitySchemes\/a The gateway does not implement HTTP basic\./),
    ])
  })

  it('refuses another value of x-tollgate-security', async () => {
    const document = schemes({ a: { ...oauth, 'x-tollgate-security': 'public' } })
    expect(await faultsOf(compile(get({ security: [{ a: [] }] }), document))).toEqual([
      expect.stringMatching(/^\/components\/securitySchemes\/a\/x-tollgate-security The only value/),
    ])
  })
})
