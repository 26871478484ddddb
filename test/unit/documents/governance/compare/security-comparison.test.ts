import { describe, expect, it } from 'vitest'
import { compareDocuments } from '../../../../../src/documents/governance/compare/compare-documents.ts'
import { openGateway, type Request } from './gateway-verdict.ts'
import { NOW_MS, read, secured, toDocument, type Json } from './small-documents.ts'

async function compare(before: unknown, after: unknown): Promise<readonly string[]> {
  const changes = compareDocuments(await read(before), await read(after), NOW_MS)
  return changes.map(({ level, id }) => `${level} ${id}`)
}

/** The two schemes of an alternative, with members added to one of them. */
function schemed(security: unknown, name: string, more: Json): Json {
  const document = structuredClone(secured(security)) as { components: { securitySchemes: Record<string, Json> } }
  const schemes = document.components.securitySchemes
  schemes[name] = { ...schemes[name], ...more }
  return document
}

const IGNORED = { 'x-tollgate-security': 'ignore' }
const BASIC = { type: 'http', scheme: 'basic', flows: undefined, in: undefined, name: undefined }
const BOTH = [{ oauth: ['a'] }, { key: [] }]

/** Each with a request that is accepted before and refused after. */
const REFUSED: readonly (readonly [what: string, before: unknown, after: unknown, Request])[] = [
  ['a scope more', secured([{ oauth: ['a'] }]), secured([{ oauth: ['a', 'b'] }]), { token: ['a'] }],
  ['a public operation that is secured', secured([]), secured([{ key: [] }]), { isAnonymous: true }],
  ['optional security that becomes required', secured([{}, ...BOTH]), secured(BOTH), { isAnonymous: true }],
  ['one alternative of security less', secured(BOTH), secured([{ oauth: ['a'] }]), { key: ['a'] }],
  ['a second scheme in an alternative', secured([{ key: [] }]), secured([{ key: [], oauth: ['a'] }]), { key: ['a'] }],
  [
    'x-tollgate-security: ignore on the only scheme of an alternative',
    secured(BOTH),
    schemed(BOTH, 'key', IGNORED),
    { key: ['a'] },
  ],
  ['an unsupported scheme in place of a supported one', secured(BOTH), schemed(BOTH, 'key', BASIC), { key: ['a'] }],
]

/** Each with a request that both versions accept. */
const ACCEPTED: readonly (readonly [what: string, before: unknown, after: unknown, Request])[] = [
  [
    'the name and the type of a security scheme',
    secured([{ oauth: ['a'] }]),
    secured([{ other: ['a'] }]),
    { token: ['a'] },
  ],
  ['an alternative of security beside the existing ones', secured([{ oauth: ['a'] }]), secured(BOTH), { token: ['a'] }],
  [
    'a public alternative of security beside the existing ones',
    secured(BOTH),
    secured([...BOTH, {}]),
    { token: ['a'] },
  ],
  ['the order of the alternatives of security', secured(BOTH), secured(BOTH.toReversed()), { key: ['a'] }],
  [
    'x-tollgate-security: ignore on a scheme that is not alone',
    secured([{ oauth: ['a'], key: [] }]),
    schemed([{ oauth: ['a'], key: [] }], 'key', IGNORED),
    { token: ['a'], key: ['a'] },
  ],
]

describe('A change of security that refuses a credential is breaking', () => {
  it.each(REFUSED)('%s', async (_, before, after, request) => {
    const gateways = [await openGateway(before), await openGateway(after)]
    expect(gateways.map((gateway) => gateway.accepts(request))).toEqual([true, false])
    expect(await compare(before, after)).toEqual(['breaking security.narrowed'])
    // A requirement that is removed is breaking by agreement.
    const back = (await compare(after, before)).filter((each) => each.startsWith('breaking'))
    expect(back.filter((each) => !each.endsWith('security.removed'))).toEqual([])
  })
})

describe('A change of security that refuses no credential is not breaking', () => {
  it.each(ACCEPTED)('%s', async (_, before, after, request) => {
    const gateways = [await openGateway(before), await openGateway(after)]
    expect(gateways.map((gateway) => gateway.accepts(request))).toEqual([true, true])
    expect((await compare(before, after)).filter((each) => each.startsWith('breaking'))).toEqual([])
  })

  it('also not if keys need the scopes of an added alternative, which is a warning', async () => {
    const [before, after] = [secured([{ key: [] }]), secured([{ key: [] }, { oauth: ['a'] }])]
    expect((await openGateway(after)).accepts({ key: [] })).toBe(false)
    expect(await compare(before, after)).toEqual(['warning security.key.scopes'])
  })
})

describe('A change of security is breaking by agreement', () => {
  it('if a requirement is replaced', async () => {
    const [before, after] = [secured([{ oauth: ['a'] }]), secured([{ key: [] }])]
    expect(await compare(before, after)).toEqual(['breaking security.narrowed'])
    expect(await compare(after, before)).toEqual(['breaking security.narrowed'])
  })

  it('if security is removed, also by an alternative that is empty', async () => {
    for (const open of [[], [{}]]) {
      expect(await compare(secured([{ oauth: ['a'] }]), secured(open))).toEqual(['breaking security.removed'])
    }
  })

  it('if the security of the document changes, which names every operation that inherits it', async () => {
    const paths = { '/others': { get: { operationId: 'other', responses: { 200: { description: 'ok' } } } } }
    const inherit = (security: unknown) => toDocument({}, { paths, security })
    const [before, after] = [await read(inherit([{ oauth: ['a'] }])), await read(inherit([{ oauth: ['b'] }]))]
    expect(compareDocuments(before, after, NOW_MS)).toMatchObject([
      {
        id: 'security.narrowed',
        pointer: '/security',
        message: 'The operation no longer accepts credentials that it accepted before. (a token with a)',
        operations: ['POST /things/{id}', 'GET /others'],
      },
    ])
  })

  it('if a scheme that could not be served is replaced', async () => {
    const basic = (security: unknown) => schemed(security, 'key', BASIC)
    expect(await compare(basic([{ key: [] }]), basic([{ oauth: ['a'] }]))).toEqual(['breaking security.narrowed'])
    expect(await compare(basic([{ key: [] }]), basic([{ key: [] }, { oauth: ['a'] }]))).toEqual([])
  })
})
