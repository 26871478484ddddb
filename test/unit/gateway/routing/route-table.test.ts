import { describe, expect, it } from 'vitest'
import { createRouteTable, type RouteOperation } from '../../../../src/gateway/routing/route-table.ts'
import { readGithubDocument } from '../../../fixtures/real-documents.ts'

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']

function table(...declared: string[]): (line: string) => string {
  const operations = declared.map((line) => {
    const [method = '', path = ''] = line.split(' ')
    return { method, path }
  })
  const routes = createRouteTable(operations)
  return (line) => {
    const [method = '', path = ''] = line.split(' ')
    const found = routes.find(method, `/name-v1${path}?q`, 8, 8 + path.length)
    if (found === null) return 'nothing'
    if ('allowed' in found) return `allows ${found.allowed.join(' ')}`
    return [declared[found.operation], ...found.parameters].join(' | ')
  }
}

describe('the route table', () => {
  it('prefers the concrete path, and backtracks if that has no match', () => {
    const find = table('GET /a/{x}', 'GET /a/b', 'GET /a/b/c', 'GET /a/{x}/d', 'GET /{y}/b/e')
    expect(find('GET /a/b')).toBe('GET /a/b')
    expect(find('GET /a/z')).toBe('GET /a/{x} | z')
    expect(find('GET /a/b/d')).toBe('GET /a/{x}/d | b')
    expect(find('GET /a/b/e')).toBe('GET /{y}/b/e | a')
    expect(find('GET /a/b/f')).toBe('nothing')
  })

  it('distinguishes an unknown path from an undeclared method', () => {
    const find = table('PUT /a', 'DELETE /a', 'GET /b')
    expect(find('GET /a')).toBe('allows PUT DELETE')
    expect(find('POST /b')).toBe('allows GET HEAD')
    expect(find('GET /c')).toBe('nothing')
    expect(find('GET ')).toBe('nothing')
  })

  it('does not use a template for a method that the concrete path does not declare', () => {
    expect(table('GET /a/b', 'POST /a/{x}')('POST /a/b')).toBe('allows GET HEAD')
  })

  it('matches HEAD to GET unless HEAD is declared', () => {
    const find = table('GET /a', 'GET /b', 'HEAD /b', 'POST /c')
    expect(find('HEAD /a')).toBe('GET /a')
    expect(find('HEAD /b')).toBe('HEAD /b')
    expect(find('HEAD /c')).toBe('allows POST')
  })

  it('treats a path with a trailing slash as a different path', () => {
    const find = table('GET /a', 'GET /b/', 'GET /c/{x}', 'GET /')
    expect(find('GET /a/')).toBe('nothing')
    expect(find('GET /b/')).toBe('GET /b/')
    expect(find('GET /b')).toBe('nothing')
    expect(find('GET /c/')).toBe('nothing')
    expect(find('GET /')).toBe('GET /')
  })

  it('finds parameters with text around them', () => {
    const find = table(
      'GET /c/{base}...{head}',
      'GET /f/{id}.json',
      'GET /f/{id}',
      'GET /f/v{a}-{b}.json',
      'GET /c/{all}',
    )
    expect(find('GET /c/main...dev')).toBe('GET /c/{base}...{head} | main | dev')
    expect(find('GET /c/a...b...c')).toBe('GET /c/{base}...{head} | a | b...c')
    expect(find('GET /c/...dev')).toBe('GET /c/{all} | ...dev')
    expect(find('GET /f/7.json')).toBe('GET /f/{id}.json | 7')
    expect(find('GET /f/.json')).toBe('GET /f/{id} | .json')
    expect(find('GET /f/v1-2.json')).toBe('GET /f/v{a}-{b}.json | 1 | 2')
    expect(find('GET /f/v1-.json')).toBe('GET /f/{id}.json | v1-')
  })

  it('decodes segments for the comparison, and returns parameters in their encoded form', () => {
    const find = table('GET /admin/{x}', 'GET /{any}/{x}', 'GET /caf%C3%A9', 'GET /f/{a}.{b}')
    expect(find('GET /%61dmin/%41')).toBe('GET /admin/{x} | %41')
    expect(find('GET /caf%c3%a9')).toBe('GET /caf%C3%A9')
    expect(find('GET /f/%61%2Eb')).toBe('GET /f/{a}.{b} | a | b')
    expect(find('GET /f/%25.%20')).toBe('GET /f/{a}.{b} | %25 | %20')
  })

  it('does not match a template with a literal that has path parameters', () => {
    const find = table('GET /admin/users', 'GET /{tenant}/users')
    expect(find('GET /admin;x=1/users')).toBe('nothing')
    expect(find('GET /%61dmin;/users')).toBe('nothing')
    expect(find('GET /acme;x=1/users')).toBe('GET /{tenant}/users | acme;x=1')
  })

  it('treats the names of built-in object properties like any other name', () => {
    const find = table('GET /a/{x}', 'GET /constructor')
    expect(find('GET /__proto__')).toBe('nothing')
    expect(find('GET /a/__proto__')).toBe('GET /a/{x} | __proto__')
    expect(find('constructor /constructor')).toBe('allows GET HEAD')
  })

  it('routes every operation of a very large document to itself', () => {
    const { paths } = JSON.parse(readGithubDocument().toString()) as { paths: Record<string, Record<string, unknown>> }
    const operations = Object.entries(paths).flatMap(([path, item]) =>
      METHODS.filter((method) => method in item).map((method) => ({ method: method.toUpperCase(), path })),
    )
    const routes = createRouteTable(operations)
    expect(operations.length).toBeGreaterThan(1_000)
    // A value that is a literal elsewhere, an unknown one, and an encoded one.
    for (const sample of ['7', 'octo.cat-1', '%C3%A9%20x']) {
      operations.forEach(({ method, path }, position) => {
        const names = path.match(/\{/g)?.length ?? 0
        const target = path.replaceAll(/\{[^}]*\}/g, sample)
        const found = routes.find(method, target, 0, target.length)
        expect(found, `${method} ${target}`).toEqual({ operation: position, parameters: Array(names).fill(sample) })
      })
    }
  })

  it('agrees with a reference implementation on all literals of a very large document', () => {
    const { paths } = JSON.parse(readGithubDocument().toString()) as { paths: Record<string, unknown> }
    const operations = Object.keys(paths).map((path) => ({ method: 'POST', path }))
    const routes = createRouteTable(operations)
    const words = [...new Set(operations.flatMap(({ path }) => path.split('/')))].filter((word) => /^\w+$/.test(word))
    let seed = 7
    const next = (): number => (seed = (seed * 48_271) % 2_147_483_647)
    for (let round = 0; round < 3_000; round++) {
      const { path } = operations[next() % operations.length]!
      const target = path.replaceAll(/\{[^}]*\}/g, () => words[next() % words.length]!)
      expect(routes.find('POST', target, 0, target.length), `seed 7, ${target}`).toEqual(slowly(operations, target))
    }
  })

  it('agrees with a reference implementation on random tables', () => {
    const parts = ['a', 'b', 'c', '{x}', '{y}', 'p{x}', '{x}s', '{x}-{y}', 'a{x}']
    const values = ['a', 'b', 'c', 'd', 'pa', 'as', 'x-y', 'ab', 'pas', '-', 'a-s']
    for (let start = 1; start <= 300; start++) {
      let seed = start * 7_919
      const next = (): number => (seed = (seed * 48_271) % 2_147_483_647)
      const pick = (from: readonly string[]): string => from[next() % from.length]!
      const path = (from: readonly string[]): string =>
        Array.from({ length: 1 + (next() % 4) }, () => `/${pick(from)}`).join('')
      const shapes = new Map(
        Array.from({ length: 1 + (next() % 20) }, () => path(parts)).map((one) => [
          one.replaceAll(/\{.\}/g, '{}'),
          one,
        ]),
      )
      const operations = [...shapes.values()].map((one) => ({ method: 'POST', path: one }))
      const routes = createRouteTable(operations)
      for (let round = 0; round < 40; round++) {
        const target = path(values)
        const message = `seed ${start}: ${target} in ${operations.map((one) => one.path).join(' ')}`
        expect(routes.find('POST', target, 0, target.length), message).toEqual(slowly(operations, target))
      }
    }
  })
})

/** Reference: tests all paths as patterns; the first by rank from the left wins: literal, more text, alphabet, bare parameter. */
function slowly(operations: readonly RouteOperation[], target: string): unknown {
  const segments = target.slice(1).split('/')
  const candidates = operations.flatMap(({ path }, operation) => {
    const templates = path.slice(1).split('/')
    if (templates.length !== segments.length) return []
    const parameters: string[] = []
    const ranks: string[] = []
    for (const [index, template] of templates.entries()) {
      const source = template.replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&').replaceAll(/\{[^}]*\}/g, '(.+?)')
      const match = new RegExp(`^${source}$`).exec(segments[index]!)
      if (match === null) return []
      parameters.push(...match.slice(1))
      const text = template.replaceAll(/\{[^}]*\}/g, '')
      const shape = template.replaceAll(/\{[^}]*\}/g, '{')
      ranks.push(template.includes('{') ? `${String(999 - text.length)} ${shape}` : '')
    }
    return [{ operation, parameters, ranks }]
  })
  candidates.sort((one, other) => {
    for (const [index, rank] of one.ranks.entries())
      if (rank !== other.ranks[index]) return rank < other.ranks[index]! ? -1 : 1
    return one.operation - other.operation
  })
  const [best] = candidates
  return best === undefined ? null : { operation: best.operation, parameters: best.parameters }
}
