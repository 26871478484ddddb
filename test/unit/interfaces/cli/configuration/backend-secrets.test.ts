import { describe, expect, it } from 'vitest'
import { createApiHandler } from '../../../../../src/interfaces/cli/configuration/api-handler.ts'
import { deployRevision } from '../../../../../src/interfaces/cli/configuration/api-deployment.ts'
import { withoutBackendSecrets } from '../../../../../src/interfaces/cli/configuration/backend-secrets.ts'
import { describeChange } from '../../../../../src/interfaces/cli/configuration/differences.ts'
import type { Context } from '../../../../../src/interfaces/cli/configuration/handler.ts'
import type { Fields, Found } from '../../../../../src/interfaces/cli/configuration/resource.ts'
import { isSameValue } from '../../../../../src/interfaces/cli/configuration/same-value.ts'
import { checkSecrets, createVariables } from '../../../../../src/interfaces/cli/configuration/variables.ts'
import { filesOf } from '../../../../../src/interfaces/cli/configuration/write-folder.ts'

const SHOWN = {
  url: 'https://a.example',
  timeoutMs: 5,
  tls: { certificate: 'C', ca: 'A' },
  secretHeaders: [{ name: 'Authorization' }],
}
const api = (backend: Fields): Found => ({
  kind: 'api',
  name: 'orders-v1',
  fields: { document: '{}', backend },
  id: 'a',
  tags: [],
})

/** Returns the backend that is staged for one of a file, while `SHOWN` is active. */
async function sentFor(backend: Fields): Promise<unknown> {
  const sent: { backend: unknown }[] = []
  const platform = {
    async send(_method: string, _path: string, body: object) {
      sent.push(JSON.parse(JSON.stringify(body)) as { backend: unknown })
      return { body: { id: 'prx_1', stagingRevision: 2 }, tag: '' }
    },
    get: async () => ({ body: { stagingRevision: 2, activeRevision: 1 }, tag: 't' }),
  }
  const context = { platform, readFile: () => '{}' } as unknown as Context
  const found = { ...api(SHOWN), tags: ['', 't', '', 'prx_1'] }
  await deployRevision(context, { ...found, fields: { backend } }, found)
  return sent[0]!.backend
}

describe('the secrets of a backend', () => {
  it.each<[string, Fields]>([
    [
      'values',
      { secretHeaders: [{ name: 'authorization', value: 's' }], tls: { certificate: 'C', ca: 'A', key: 'K' } },
    ],
    ['no values', { secretHeaders: [{ name: 'Authorization' }] }],
  ])('are no difference: %s', (_, wanted) => {
    expect(isSameValue('api', 'backend', SHOWN, wanted)).toBe(true)
  })

  it.each<[string, Fields]>([
    ['another name', { secretHeaders: [{ name: 'X-Other', value: 's' }] }],
    ['one more', { secretHeaders: [{ name: 'Authorization' }, { name: 'X-Other', value: 's' }] }],
    ['none', { secretHeaders: [] }],
    ['another certificate', { tls: { certificate: 'D', ca: 'A' } }],
    ['no authorities', { tls: { certificate: 'C' } }],
  ])('are a difference by what is shown: %s', (_, wanted) => {
    expect(isSameValue('api', 'backend', SHOWN, wanted)).toBe(false)
  })

  it('are not printed, even if a folder has them in clear', () => {
    const after = {
      ...SHOWN,
      secretHeaders: [{ name: 'X-Other', value: 'marker' }],
      tls: { certificate: 'D', key: 'marker' },
    }
    const found = api(SHOWN)
    const differences = [{ field: 'backend', before: SHOWN, after }]
    const text = describeChange({ action: 'change', found, wanted: api(after), differences }, (line) => line)
    expect(text).toContain('x-other')
    expect(text).not.toContain('marker')
  })

  it('are variables in a dump, which a first apply needs', () => {
    const text = filesOf([api(SHOWN)], null).get('apis/orders-v1.yaml')!
    expect(text).toContain('value: ${SECRET_ORDERS_V1_HEADER_AUTHORIZATION}')
    expect(text).toContain('key: ${SECRET_ORDERS_V1_TLS_KEY}')
    const { replaceIn } = createVariables({})
    const value = replaceIn(
      { backend: { secretHeaders: [{ name: 'A', value: '${X}' }], tls: { key: '${X}' } } },
      'a.yaml',
    )
    expect(() => checkSecrets(value)).toThrow('a.yaml: the variable X is not set.')
  })

  it('have a variable each in a dump', () => {
    const names = ['Key', 'TLS-Key', 'X-A', 'X.A', 'X-A-2', 'X-A-']
    const text = filesOf([api({ ...SHOWN, secretHeaders: names.map((name) => ({ name })) })], null).get(
      'apis/orders-v1.yaml',
    )!
    const variables = [...text.matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name)
    expect(variables).toHaveLength(names.length + 1)
    expect(new Set(variables).size).toBe(variables.length)
  })

  it('need no variable where other members of the same names do', () => {
    const { replaceIn } = createVariables({})
    for (const value of [{ value: '${X}' }, { key: '${X}' }, { labels: { key: '${X}' } }, { set: [{ value: '${X}' }] }])
      expect(() => replaceIn(value, 'a.yaml')).toThrow('the variable X is not set')
  })

  it('stay at the service if their variables are not set', async () => {
    const { replaceIn } = createVariables({ SET: 'marker' })
    const headers = [
      { name: 'A', value: '${SET}' },
      { name: 'B', value: '${UNSET}' },
    ]
    const backend = replaceIn(
      { secretHeaders: headers, tls: { certificate: 'D', key: '${UNSET}' } },
      'a.yaml',
    ) as Fields
    expect(await sentFor(backend)).toEqual({
      url: SHOWN.url,
      timeoutMs: 5,
      tls: { certificate: 'D' },
      secretHeaders: [{ name: 'A', value: 'marker' }, { name: 'B' }],
    })
  })

  it.each<[string, unknown]>([
    ['an empty list', []],
    ['null', null],
  ])('go with %s in the place of the headers, after which nothing differs', async (_, secretHeaders) => {
    const { secretHeaders: _headers, ...left } = SHOWN
    expect(isSameValue('api', 'backend', SHOWN, { secretHeaders })).toBe(false)
    expect(await sentFor({ secretHeaders })).toEqual(left)
    expect(isSameValue('api', 'backend', left, { secretHeaders })).toBe(true)
  })

  it.each<[string, unknown]>([
    ['an empty object', {}],
    ['null', null],
  ])('go with %s in the place of TLS, after which nothing differs', async (_, tls) => {
    const { tls: _tls, ...left } = SHOWN
    expect(isSameValue('api', 'backend', SHOWN, { tls })).toBe(false)
    expect(await sentFor({ tls })).toEqual(left)
    expect(isSameValue('api', 'backend', left, { tls })).toBe(true)
  })

  it.each<[string, Fields]>([
    ['headers by name', { secretHeaders: { Authorization: { value: 'marker' } } }],
    ['a text as headers', { secretHeaders: 'marker' }],
    ['a text as a header', { secretHeaders: ['marker'] }],
    ['a list as a header', { secretHeaders: [[{ name: 'A', value: 'marker' }]] }],
    ['no name', { secretHeaders: [{ name: 'A' }, { value: 'marker' }] }],
    ['a misspelt name', { secretHeaders: [{ nmae: 'A', value: 'marker' }] }],
    ['a name that is no text', { secretHeaders: [{ name: 1, value: 'marker' }] }],
    ['a misspelt value', { secretHeaders: [{ name: 'A', vlaue: 'marker' }] }],
    ['a text as TLS', { tls: 'marker' }],
    ['a misspelt key', { tls: { certificate: 'C', kye: 'marker' } }],
  ])('of another shape are refused without being printed: %s', (_, backend) => {
    const fault = createApiHandler().faultIn!({ backend })
    expect(fault).toMatch(/^backend\.(?:tls|secretHeaders)/)
    expect(fault).not.toContain('marker')
  })

  it('may be left out or empty', () => {
    const empty = [{}, { tls: null, secretHeaders: null }, { tls: {}, secretHeaders: [] }, SHOWN]
    for (const backend of empty) expect(createApiHandler().faultIn!({ backend })).toBeNull()
  })

  it('are not printed, wherever they are', () => {
    for (const odd of [
      { secretHeaders: { A: { value: 'marker' } } },
      { secretHeaders: [{ nmae: 'A', value: 'marker' }, [{ value: 'marker' }]] },
      { secretHeader: [{ name: 'A', value: 'marker' }], mtls: { key: 'marker' } },
    ])
      expect(JSON.stringify(withoutBackendSecrets(odd))).not.toContain('marker')
  })
})
