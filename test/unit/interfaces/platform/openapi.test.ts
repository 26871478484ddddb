import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, it, onTestFinished } from 'vitest'
import { REVEAL_SCOPE } from '../../../../src/control/access/credentials.ts'
import { MCP_PATH } from '../../../../src/boundary/plan/mcp-exposure.ts'
import { PROBLEMS } from '../../../../src/foundation/domain/problem.ts'
import { createOauthHandler } from '../../../../src/gateway/oauth/oauth-server.ts'
import { lint } from '../../../../src/documents/governance/lint/lint.ts'
import { buildOauthOpenApi } from '../../../../src/interfaces/platform/oauth-openapi.ts'
import { platformOperations, platformScopes } from '../../../../src/interfaces/platform/operations.ts'
import { NO_CORS, openClientServer } from '../../../fixtures/client-server.ts'
import { BASE_URL, GATEWAY_URL, openTestPlatform, type TestPlatform } from '../../../fixtures/test-platform.ts'

interface Described {
  readonly operationId: string
  readonly 'x-single-width'?: string
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly responses: Readonly<Record<string, { readonly description: string }>>
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly example: unknown } } }
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly components: { readonly schemas: Readonly<Record<string, unknown>>; readonly securitySchemes: Schemes }
}

type Schemes = Readonly<Record<string, { flows: { clientCredentials: { tokenUrl: string; scopes: object } } }>>

async function documentOf(platform: TestPlatform): Promise<Document> {
  return (await platform.send('GET', '/openapi.json')).body as unknown as Document
}

const operationsOf = ({ paths }: Document): (Described & { path: string; method: string })[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, path, method: method.toUpperCase() })),
  )

/** The routes that fastify has registered. */
function routesOf({ server }: TestPlatform): string[] {
  const tree = server.app.printRoutes({ commonPrefix: false })
  const stack: string[] = []
  return tree.split('\n').flatMap((line) => {
    const match = /^([│ ]*)[├└]── (\S*) \(([^)]+)\)$/.exec(line) ?? /^([│ ]*)[├└]── (\S+)$/.exec(line)
    if (match === null) return []
    const depth = (match[1] ?? '').length / 4
    stack.length = depth
    stack[depth] = match[2] ?? ''
    const methods = (match[3] ?? '').split(', ').filter((method) => method !== '' && method !== 'HEAD')
    return methods.map((method) => `${method} ${stack.join('').replace(/:(\w+)/g, '{$1}')}`)
  })
}

describe('/openapi.json', () => {
  it('is a valid OpenAPI 3.1 document', async () => {
    const platform = await openTestPlatform()
    const { body } = await platform.send('GET', '/openapi.json')
    const result = await new Validator().validate(structuredClone(body))
    expect(result.errors ?? []).toEqual([])
    expect(result.valid).toBe(true)
    expect(body['openapi']).toBe('3.1.0')
  })

  it('scores 100 by its own rules', async () => {
    const platform = await openTestPlatform()
    const { bytes } = await platform.send('GET', '/openapi.json')

    const { coverage, ...result } = await lint(bytes)
    expect(result).toMatchObject({ score: 100, findings: [] })
    // Spectral's rules checked the whole document.
    expect(coverage).toMatchObject({ operations: coverage?.of, failed: [] })
  })

  it('has examples of bodies that match its schemas', async () => {
    const platform = await openTestPlatform()
    const { body } = await platform.send('GET', '/openapi.json')
    const ajv = new Ajv2020({ strict: false, validateFormats: false }).addSchema(body, 'document')
    const bodies = operationsOf(body as unknown as Document).filter(({ requestBody }) => requestBody !== undefined)
    expect(bodies.length).toBeGreaterThan(20)
    for (const { operationId, path, method, requestBody } of bodies) {
      const place = ['paths', path, method.toLowerCase(), 'requestBody', 'content', 'application/json', 'schema']
      const pointer = place.map((part) => part.replaceAll('~', '~0').replaceAll('/', '~1')).join('/')
      const validate = ajv.compile({ $ref: `document#/${encodeURI(pointer)}` })
      const example = requestBody?.content['application/json'].example
      expect(validate(example), `${operationId} ${JSON.stringify(example)} ${ajv.errorsText(validate.errors)}`).toBe(
        true,
      )
    }
  })

  it('describes exactly the registered routes, but for the endpoint of another protocol', async () => {
    const platform = await openTestPlatform()
    const described = operationsOf(await documentOf(platform)).map(({ method, path }) => `${method} ${path}`)
    const routes = routesOf(platform).filter((route) => !route.endsWith(` ${MCP_PATH}`))
    expect(routes.sort()).toEqual(described.sort())
    expect(described.length).toBeGreaterThan(25)
  })

  it('gives each operation a unique id, its scope and the code of each problem', async () => {
    const platform = await openTestPlatform()
    const document = await documentOf(platform)
    const operations = operationsOf(document)
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length)

    const scopes = operations.flatMap(({ security }) => security.flatMap(({ oauth = [] }) => oauth))
    expect([...new Set([...scopes, REVEAL_SCOPE])].sort()).toEqual(platformScopes())
    const { clientCredentials } = document.components.securitySchemes['oauth']!.flows
    expect(Object.keys(clientCredentials.scopes)).toEqual(platformScopes())
    expect(clientCredentials.tokenUrl).toBe(`${GATEWAY_URL}/platform-v1/oauth2/v2/token`)

    const refusals = operations.flatMap(({ responses }) =>
      Object.entries(responses).filter(([status]) => Number(status) >= 400),
    )
    for (const [status, { description }] of refusals) {
      const codes = [...description.matchAll(/`(\w+)`/g)].map(([, code]) => code as keyof typeof PROBLEMS)
      expect(codes.length).toBeGreaterThan(0)
      expect(codes.map((code) => String(PROBLEMS[code].status))).toEqual(codes.map(() => status))
    }
  })

  it('states both widths of the scope of each operation, or why it has only one', async () => {
    const operations = operationsOf(await documentOf(await openTestPlatform()))
    const closed = operations.filter(({ security }) => security.length > 0)
    for (const { operationId, security, 'x-single-width': reason } of closed) {
      const [wide = '', own] = security.flatMap(({ oauth = [] }) => oauth)
      expect([operationId, own ?? reason]).toEqual([
        operationId,
        reason === undefined ? `${wide}:own` : expect.stringMatching(/\w+.*\.$/),
      ])
    }
    expect(closed.filter(({ security }) => security.length === 2).length).toBeGreaterThan(25)
  })

  it('declares each parameter of a path', async () => {
    const platform = await openTestPlatform()
    for (const { path, parameters = [] } of operationsOf(await documentOf(platform))) {
      const declared = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => `{${name}}`)
      expect(path.match(/\{\w+\}/g) ?? []).toEqual(declared)
    }
  })

  it('is the source of the operations and scopes of platform-v1', async () => {
    const platform = await openTestPlatform()
    const described = operationsOf(await documentOf(platform)).map(({ operationId, method, path, security }) => ({
      operationId,
      method,
      path,
      alternatives: security.flatMap(({ oauth = [] }) => oauth),
    }))
    const byId = (a: { operationId: string }, b: { operationId: string }) => (a.operationId < b.operationId ? -1 : 1)
    expect([...platformOperations()].sort(byId)).toEqual(described.sort(byId))
    expect(platformScopes()).toEqual(expect.arrayContaining(['consumers:read', 'proxies:write', 'risks:read']))
  })
})

describe('/oauth.openapi.json, to which /openapi.json links', () => {
  it('is a valid OpenAPI 3.1 document that breaks lint rules only where an RFC requires it', async () => {
    const platform = await openTestPlatform()
    const { body: document } = await platform.send('GET', '/openapi.json')
    const { url } = document['externalDocs'] as { url: string }
    const { status, body, bytes } = await platform.send('GET', url.slice(BASE_URL.length))
    expect(status).toBe(200)
    expect(body['servers']).toEqual([{ url: GATEWAY_URL }])
    expect((await new Validator().validate(structuredClone(body))).errors ?? []).toEqual([])
    const rules = new Set((await lint(bytes)).findings.map(({ rule }) => rule))
    // HTTP Basic for clients and errors of RFC 6749, `.well-known` of RFC 8615, a sign-in that needs no credential.
    const dictated = [
      'path-spelling',
      'problem-details',
      'security-public-write',
      'security-scheme-unsupported',
      'security-weak-scheme',
    ]
    expect([...rules].sort()).toEqual(dictated)
  })

  it('describes each OAuth path that the gateway serves, with its methods', async () => {
    const { paths } = buildOauthOpenApi({ baseUrl: BASE_URL, gatewayUrl: GATEWAY_URL }) as unknown as Document
    const oauth = createOauthHandler({
      gatewayUrl: GATEWAY_URL,
      execute: async () => ({ status: 200, headers: {}, body: 'answered', signal: null }),
      jwks: () => ({ keys: [] }),
      scopesOf: () => [],
      allowsRegistration: true,
    })
    const { server, url: origin } = await openClientServer((request, response) => {
      if (!oauth(request, response, request.url ?? '', NO_CORS, null)) response.refuse(404)
    })
    onTestFinished(async () => {
      server.close()
    })
    const described = Object.entries(paths)
    expect(described.length).toBe(19)
    for (const [template, item] of described) {
      const url = `${origin}${template.replace('{api}', 'payments-v1')}`
      const methods = Object.keys(item).filter((name) => name !== 'parameters')
      for (const method of methods) {
        const [type = 'application/x-www-form-urlencoded'] = Object.keys(item[method]?.requestBody?.content ?? {})
        const headers = method === 'post' ? { 'content-type': type } : {}
        const answer = await fetch(url, {
          method: method.toUpperCase(),
          headers,
          ...(method === 'post' && { body: '' }),
        })
        expect(answer.status, `${method} ${template}`).toBe(200)
      }
      const allowed = (await fetch(url, { method: 'DELETE' })).headers.get('allow') ?? ''
      const named = allowed
        .toLowerCase()
        .split(', ')
        .filter((method) => method !== 'head')
      expect(named.sort(), template).toEqual(methods.sort())
    }
  })
})
